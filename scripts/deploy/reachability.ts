/** What the pods of the chart must reach, and what they must not, under its own NetworkPolicy. */
import { type Connection, isAllowed, type NetworkPolicy, type Peer, type Pod } from './network-policy.ts';

export interface Expectation {
  what: string;
  connection: Connection;
  isAllowed: boolean;
}

export const podOf = (labels: Record<string, string>, namespace: string): Pod => ({ labels, namespace });
const inNamespace = (namespace: string): Pod => ({ labels: { app: 'anything' }, namespace });
const outside = (address: string): Peer => ({ address });

/** Of the values as they are shipped. */
export function expectationsFor(pod: Pod): Expectation[] {
  const allowed = (what: string, connection: Connection) => ({ what, connection, isAllowed: true });
  const refused = (what: string, connection: Connection) => ({ what, connection, isAllowed: false });
  return [
    allowed('pod → pod, forwarded sessions', { from: pod, to: pod, port: 8081 }),
    allowed('ingress → pod', { from: inNamespace('ingress-nginx'), to: pod, port: 8081 }),
    allowed('Prometheus → pod', { from: inNamespace('monitoring'), to: pod, port: 8081 }),
    allowed('client in the namespace → pod', { from: inNamespace(pod.namespace), to: pod, port: 8081 }),
    allowed('pod → DNS', { from: pod, to: inNamespace('kube-system'), port: 53, protocol: 'UDP' }),
    allowed('pod → DNS over TCP', { from: pod, to: inNamespace('kube-system'), port: 53 }),
    allowed('pod → node-local DNS', { from: pod, to: outside('169.254.20.10'), port: 53, protocol: 'UDP' }),
    allowed('pod → PostgreSQL inside', { from: pod, to: inNamespace('db'), port: 5432 }),
    allowed('pod → PostgreSQL outside', { from: pod, to: outside('203.0.113.7'), port: 5432 }),
    allowed('pod → PostgreSQL outside, private', { from: pod, to: outside('10.20.30.40'), port: 5432 }),
    allowed('pod → PostgreSQL outside, IPv6', { from: pod, to: outside('2001:db8::7'), port: 5432 }),
    allowed('pod → Redis inside', { from: pod, to: inNamespace('db'), port: 6379 }),
    allowed('pod → Redis outside', { from: pod, to: outside('203.0.113.8'), port: 6379 }),
    allowed('pod → Qdrant inside', { from: pod, to: inNamespace('db'), port: 6333 }),
    allowed('pod → collector of traces', { from: pod, to: inNamespace('monitoring'), port: 4318 }),
    allowed('pod → MCP server inside', { from: pod, to: inNamespace('tools'), port: 3000 }),
    allowed('pod → MCP server in the same namespace', { from: pod, to: inNamespace(pod.namespace), port: 8000 }),
    allowed('pod → MCP server outside', { from: pod, to: outside('203.0.113.9'), port: 443 }),
    refused('pod → metadata service', { from: pod, to: outside('169.254.169.254'), port: 80 }),
    refused('pod → metadata service over TLS', { from: pod, to: outside('169.254.169.254'), port: 443 }),
    refused('pod → metadata service, IPv6', { from: pod, to: outside('fd00:ec2::254'), port: 443 }),
    refused('pod → SSH outside', { from: pod, to: outside('203.0.113.9'), port: 22 }),
    refused('pod → UDP in the cluster', { from: pod, to: inNamespace('tools'), port: 4789, protocol: 'UDP' }),
    refused('another namespace → pod', { from: inNamespace('tools'), to: pod, port: 8081 }),
    refused('ingress → another port of the pod', { from: inNamespace('ingress-nginx'), to: pod, port: 9229 }),
    refused('outside → pod', { from: outside('203.0.113.10'), to: pod, port: 8081 }),
  ];
}

/** The expectations that do not hold. */
export function findWrong(policies: readonly NetworkPolicy[], expectations: readonly Expectation[]): string[] {
  return expectations
    .filter((expected) => isAllowed(policies, expected.connection) !== expected.isAllowed)
    .map(({ what, isAllowed: wanted }) => `${what}: must be ${wanted ? 'allowed' : 'refused'}`);
}
