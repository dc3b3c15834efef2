/** What `npm run bench capacity` measures, and what the simulation calculates with. */
export interface Costs {
  machine: string;
  /** By era and transport of the server, of the aggregator's process. */
  callCpuMs: Record<string, number>;
  /** With 16 clients, load generator and server on the same two cores. */
  callsPerSecond: Record<string, number>;
  searchCpuMs: number;
  /** initialize, tools/list and the stream that the client listens on. */
  sessionOpenCpuMs: number;
  memoryMb: {
    base: number;
    perHttpServer: number;
    perStdioServer: number;
    perTool: number;
    perSession: number;
    /** The most under full load, with one server. */
    underLoad: number;
    /** Of its own, of a usual server on Node: what it does not share with another. */
    stdioProcess: number;
  };
  idleCpuMsPerSecond: { base: number; perServer: number; perSession: number };
  database: {
    /** Of one replica, with and without calls, which are stored in batches. */
    transactionsPerSecond: number;
    bytesPerCall: number;
    walBytesPerCall: number;
  };
  redis: { idleCommandsPerSecond: number; commandsPerCall: number };
}
