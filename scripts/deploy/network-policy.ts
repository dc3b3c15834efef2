/** Who reaches whom by the rules of NetworkPolicies, as Kubernetes defines them. */
import { BlockList, isIPv6 } from 'node:net';

type Labels = Record<string, string>;

export interface Pod {
  labels: Labels;
  namespace: string;
  /** Each namespace has its name as a label. */
  namespaceLabels?: Labels;
}

/** A pod, or an address outside the pod network. */
export type Peer = Pod | { address: string };

export interface Connection {
  from: Peer;
  to: Peer;
  port: number;
  protocol?: 'TCP' | 'UDP';
}

interface Selector {
  matchLabels?: Labels;
  matchExpressions?: { key: string; operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'; values?: string[] }[];
}

interface PolicyPeer {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}

interface PolicyPort {
  protocol?: 'TCP' | 'UDP' | 'SCTP';
  port?: number | string;
  endPort?: number;
}

interface Rule {
  from?: PolicyPeer[];
  to?: PolicyPeer[];
  ports?: PolicyPort[];
}

export interface NetworkPolicy {
  metadata: { namespace?: string };
  spec: { podSelector: Selector; policyTypes?: ('Ingress' | 'Egress')[]; ingress?: Rule[]; egress?: Rule[] };
}

/** The sender's policies and the receiver's must both allow it; a pod that no policy selects is open. */
export function isAllowed(policies: readonly NetworkPolicy[], connection: Connection): boolean {
  return passes(policies, connection, 'Egress') && passes(policies, connection, 'Ingress');
}

function passes(policies: readonly NetworkPolicy[], connection: Connection, type: 'Ingress' | 'Egress'): boolean {
  const [own, other] = type === 'Egress' ? [connection.from, connection.to] : [connection.to, connection.from];
  if (!isPod(own)) return true;
  const applying = policies.filter(({ metadata, spec }) => {
    const types = spec.policyTypes ?? (spec.egress === undefined ? ['Ingress'] : ['Ingress', 'Egress']);
    return metadata.namespace === own.namespace && types.includes(type) && selects(spec.podSelector, own.labels);
  });
  if (applying.length === 0) return true;
  return applying.some(({ metadata, spec }) =>
    (type === 'Egress' ? spec.egress : spec.ingress)?.some((rule) => {
      const peers = type === 'Egress' ? rule.to : rule.from;
      return allowsPort(rule.ports, connection) && allowsPeer(peers, other, metadata.namespace ?? 'default');
    }),
  );
}

const isPod = (peer: Peer): peer is Pod => 'labels' in peer;

/** No list, or an empty one, means every port. */
function allowsPort(ports: readonly PolicyPort[] | undefined, { port, protocol = 'TCP' }: Connection): boolean {
  if (ports === undefined || ports.length === 0) return true;
  return ports.some((allowed) => {
    if ((allowed.protocol ?? 'TCP') !== protocol) return false;
    if (allowed.port === undefined) return true;
    const first = Number(allowed.port);
    return port >= first && port <= (allowed.endPort ?? first);
  });
}

/** Blocks of addresses are counted for what is outside only: whether they include pods is up to the network plug-in. */
function allowsPeer(peers: readonly PolicyPeer[] | undefined, other: Peer, namespace: string): boolean {
  if (peers === undefined || peers.length === 0) return true;
  return peers.some(({ podSelector, namespaceSelector, ipBlock }) => {
    if (!isPod(other)) return ipBlock !== undefined && isWithin(other.address, ipBlock);
    if (ipBlock !== undefined) return false;
    const labels = { 'kubernetes.io/metadata.name': other.namespace, ...other.namespaceLabels };
    const isInNamespace =
      namespaceSelector === undefined ? other.namespace === namespace : selects(namespaceSelector, labels);
    return isInNamespace && selects(podSelector ?? {}, other.labels);
  });
}

function isWithin(address: string, { cidr, except = [] }: { cidr: string; except?: string[] }): boolean {
  return contains(cidr, address) && !except.some((range) => contains(range, address));
}

function contains(cidr: string, address: string): boolean {
  const [network = '', prefix] = cidr.split('/');
  if (isIPv6(network) !== isIPv6(address)) return false;
  const family = isIPv6(network) ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), family);
  return list.check(address, family);
}

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const isListed = value !== undefined && values.includes(value);
      return operator === 'In' ? isListed : !isListed;
    })
  );
}
