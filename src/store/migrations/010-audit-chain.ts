import type { Migration } from '../migrate.ts';

/** Records from before the chain keep null: they can't be proven, and verifying says how many there are. */
export const auditChain: Migration = {
  name: '010-audit-chain',
  statements: () => [
    'alter table audit add column seq bigint',
    'alter table audit add column hash text',
    // Not unique: a forged record must be found by verifying, not stop the honest writer.
    'create index idx_audit_seq on audit (seq)',
  ],
};
