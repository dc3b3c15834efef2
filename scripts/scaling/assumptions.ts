/** What people and their clients do in the busiest hour; each can be changed with `npm run scaling -- --<name> <value>`. */
export const assumptions = {
  /** Of all people, in the busiest hour. */
  activeShare: 0.5,
  clientsPerPerson: 2,
  /** The others speak 2026-07-28, which has no sessions. */
  legacyClientShare: 0.8,
  tasksPerHour: 6,
  callsPerTask: 20,
  secondsBetweenCalls: 5,
  searchesPerTask: 1,
  /** Active people whose agent works through a list, without a person who waits. */
  unattendedShare: 0.05,
  unattendedCallsPerSecond: 0.5,
  /** Of the calls; the others go to servers over HTTP, half of each era. */
  stdioCallShare: 0.2,
  /** Active people with a process of their own of a STDIO server: personal keys, browsers, shells. */
  ownProcessShare: 0.2,
  /** Seconds without a call until such a process ends. */
  idleTimeout: 600,
  toolsPerServer: 20,
  /** A day has as many calls as this many of its busiest hours. */
  busyHoursPerDay: 6,
  retentionDays: 365,
  /** Seconds between two checks of an account at the identity provider. */
  checkInterval: 30,
};
export type Assumptions = typeof assumptions;

/** Servers grow with the people, but slower. */
export interface Population {
  people: number;
  serversOverHttp: number;
  /** Shared by everybody: one process in each replica. */
  sharedStdioServers: number;
  /** Of a replica. */
  podMemoryGb: number;
}

export const populations: readonly Population[] = [
  { people: 200, serversOverHttp: 30, sharedStdioServers: 5, podMemoryGb: 2 },
  { people: 2_000, serversOverHttp: 80, sharedStdioServers: 10, podMemoryGb: 4 },
  { people: 20_000, serversOverHttp: 200, sharedStdioServers: 10, podMemoryGb: 8 },
];

/** What a replica may use. */
export const limits = {
  /** Of one core, on which the event loop runs. Beyond it the waits grow, and nothing is left for a peak. */
  cpuShare: 0.6,
  /** Of the pod's memory. */
  memoryShare: 0.8,
  /** Of its own memory: the heap of 768 MB, with room for answers. */
  ownMemoryMb: 700,
  /** MCP_AGGREGATOR_MAX_SESSIONS and MCP_AGGREGATOR_MAX_CONNECTIONS. */
  sessions: 10_000,
  waitP99Ms: 50,
  /** The checks of accounts that a replica has under way at a time. */
  concurrentChecks: 10,
  secondsPerCheck: 0.15,
};
