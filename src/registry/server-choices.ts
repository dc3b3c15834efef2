/** Values of the options of a server. Apart from the schemas, which the commands would load for nothing else. */

/** Whose a session with a server is. */
export const ownerships = ['shared', 'client', 'principal'] as const;
export type Ownership = (typeof ownerships)[number];

/** When a server is started. */
export const startModes = ['always', 'on_demand'] as const;
export const protocols = ['auto', 'legacy', 'modern'] as const;
