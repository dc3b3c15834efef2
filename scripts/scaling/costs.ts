/** What `npm run bench capacity` measures, and what the simulation calculates with. */
export interface Costs {
  machine: string;
  /** By era and transport of the server, of the aggregator's process. */
  callCpuMs: Record<string, number>;
  /** With 16 clients, load generator and server on the same two cores. */
  callsPerSecond: Record<string, number>;
  searchCpuMs: number;
  memoryMb: { base: number; perHttpServer: number; perStdioServer: number; perTool: number; perSession: number };
  idleCpuMsPerSecond: { base: number; perServer: number; perSession: number };
  database: {
    idleTransactionsPerSecond: number;
    /** Calls are stored in batches, so this does not grow with their number. */
    transactionsPerSecondUnderLoad: number;
    bytesPerCall: number;
    walBytesPerCall: number;
  };
  redis: { idleCommandsPerSecond: number; commandsPerCall: number };
}
