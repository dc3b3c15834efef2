/** Clients, the gateway and the servers as they talk at the moment. */
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { type ServerList, serversPath } from '../api.ts';
import { serverEvents, useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { useIsBound } from '../session.ts';
import { perSecond, type StatisticsSeries, useStatistics } from '../statistics.ts';
import { statusTone, statusWords } from '../words.ts';
import styles from './traffic-map.module.css';

const minute = { seconds: 60, step: 10, whole: true };
const maxClients = 8;
const maxServers = 14;
const rowHeight = 34;
const gapAround = 12;

interface Node {
  id: string;
  name: string;
  href?: string;
  tone?: string;
  note?: string;
  rate: number;
  failedRate: number;
}

export function TrafficMap() {
  const isBound = useIsBound();
  const byClient = useStatistics(isBound ? null : minute, { by: 'client', limit: maxClients });
  const byServer = useStatistics(minute, { by: 'server', limit: 100 });
  const list = useResource<ServerList>(`${serversPath}?limit=1000`, { on: serverEvents });
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const clients = (byClient.data?.series ?? []).map(toClient);
  const servers = toServers(list.data, byServer.data?.series ?? []);
  const height = Math.max(clients.length, servers.length, 3) * rowHeight + 2 * gapAround;
  const total = byServer.data?.total;
  return (
    <section aria-label="Live traffic" className="figure">
      <h2>
        Now <span className={styles.hint}>calls of the last minute</span>
      </h2>
      <div ref={place} className={styles.map} style={{ height }}>
        <Edges clients={clients} servers={servers} width={width} height={height} />
        <ul className={styles.left} aria-label="Clients">
          {clients.map((node) => (
            <MapNode key={node.id} node={node} />
          ))}
          {clients.length === 0 && (
            <li className={styles.none}>
              {isBound ? 'Clients are visible to tokens without limits.' : 'No client has called in the last minute.'}
            </li>
          )}
        </ul>
        <p className={styles.gateway}>
          <strong>Gateway</strong>
          <span>{total === undefined ? '' : perSecond(total.calls_per_second)}</span>
        </p>
        <ul className={styles.right} aria-label="Servers">
          {servers.map((node) => (
            <MapNode key={node.id} node={node} />
          ))}
        </ul>
      </div>
    </section>
  );
}

const ratesOf = (series: StatisticsSeries | undefined) => {
  const rate = series?.calls_per_second ?? 0;
  return { rate, failedRate: series === undefined || series.calls === 0 ? 0 : (rate * series.failed) / series.calls };
};

function toClient(series: StatisticsSeries): Node {
  const name = series.client ?? 'REST API';
  return {
    id: `${series.client} ${series.principal}`,
    name: series.principal === undefined ? name : `${name} · ${series.principal}`,
    ...ratesOf(series),
  };
}

/** By name, so that nothing moves; where there are too many, the busiest. */
function toServers(list: ServerList | undefined, series: readonly StatisticsSeries[]): Node[] {
  const nodes = (list?.servers ?? []).map((server): Node => {
    const tone = server.login === null ? statusTone[server.status] : 'warn';
    const note = server.login === null ? statusWords[server.status] : 'Login required';
    const own = series.find((each) => each.server === server.name);
    return { id: server.id, name: server.name, href: linkTo('servers', server.name), tone, note, ...ratesOf(own) };
  });
  const byName = (a: Node, b: Node) => a.name.localeCompare(b.name);
  if (nodes.length <= maxServers) return nodes.sort(byName);
  const busiest = nodes.sort((a, b) => b.rate - a.rate || byName(a, b));
  const rest = busiest.slice(maxServers - 1);
  const more: Node = {
    id: 'more',
    name: `${rest.length} more servers`,
    href: linkTo('servers'),
    rate: rest.reduce((sum, node) => sum + node.rate, 0),
    failedRate: rest.reduce((sum, node) => sum + node.failedRate, 0),
  };
  return [...busiest.slice(0, maxServers - 1).sort(byName), more];
}

function MapNode({ node: { name, href, tone, note, rate, failedRate } }: { node: Node }) {
  const label: ReactNode = href === undefined ? name : <a href={href}>{name}</a>;
  return (
    <li style={{ height: rowHeight }}>
      {tone !== undefined && <span className={`${styles.dot} ${tone}`} role="img" aria-label={note} />}
      <span className={styles.name} title={name}>
        {label}
      </span>
      <span className={styles.rate}>
        {rate > 0 && perSecond(rate)}
        {failedRate > 0 && <em> {Math.round((failedRate / rate) * 100)} % failed</em>}
      </span>
    </li>
  );
}

/** The busier, the thicker; red is what fails. */
function Edges({
  clients,
  servers,
  width,
  height,
}: {
  clients: readonly Node[];
  servers: readonly Node[];
  width: number;
  height: number;
}) {
  const side = width < 560 ? width * 0.36 : Math.min(width * 0.34, 320);
  const middle = width / 2;
  const half = width < 560 ? 38 : 56;
  const busiest = Math.max(...[...clients, ...servers].map(({ rate }) => rate), 0.01);
  const edge = (node: Node, place: number, total: number, isClient: boolean) => {
    const y = height / 2 + (place - (total - 1) / 2) * rowHeight;
    const [from, to] = isClient ? [side, middle - half] : [middle + half, width - side];
    const bend = (from + to) / 2;
    const [start, end] = isClient ? [y, height / 2] : [height / 2, y];
    const path = `M${from},${start} C${bend},${start} ${bend},${end} ${to},${end}`;
    const thickness = node.rate === 0 ? 1 : 1.5 + 5 * Math.sqrt(node.rate / busiest);
    return (
      <g key={node.id}>
        <path d={path} className={node.rate > 0 ? styles.busy : styles.idle} strokeWidth={thickness} />
        {node.failedRate > 0 && (
          <path
            d={path}
            className={styles.failing}
            strokeWidth={Math.max(1.5, (thickness * node.failedRate) / node.rate)}
          />
        )}
        {node.rate > 0 && <path d={path} className={styles.flow} />}
      </g>
    );
  };
  return (
    <svg className={styles.edges} width={width} height={height} aria-hidden>
      {clients.map((node, place) => edge(node, place, clients.length, true))}
      {servers.map((node, place) => edge(node, place, servers.length, false))}
    </svg>
  );
}

function useWidth(place: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [place]);
  return width;
}
