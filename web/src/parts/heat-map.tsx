import type { Activity, Slice, Status } from '../api.ts';
import { linkTo } from '../route.ts';
import { clock, count, statusWords } from '../words.ts';
import { Scroll } from './scroll.tsx';

/** Two hours: a map of a few cells would look broken. */
const fewest = 24;

/** One row per server, one cell per slice of time: how it was, and how many calls failed. */
export function HeatMap({ servers }: { servers: Activity['servers'] }) {
  const known = servers[0]?.slices.length ?? 0;
  const columns = Math.max(known, fewest);
  const missing = Array.from({ length: columns - known }, (_, place) => place);
  return (
    <Scroll label="Recent hours of each server">
      <table className="heat">
        <caption>
          Each cell is five minutes, the newest on the right
          {missing.length > 0 && '; empty cells are before the start of the aggregator'}.
        </caption>
        <tbody>
          {servers.map(({ id, name, slices }) => (
            <tr key={id}>
              <th scope="row">
                <a href={linkTo('servers', name)}>{name}</a>
              </th>
              <td>
                <svg
                  viewBox={`0 0 ${columns * 10} 18`}
                  preserveAspectRatio="none"
                  role="img"
                  aria-label={summarise(slices)}
                >
                  {missing.map((place) => (
                    <rect key={place} className="cell none" x={place * 10 + 0.5} y="0.5" width="8" height="17" rx="2" />
                  ))}
                  {slices.map((slice, place) => (
                    <rect
                      key={slice.at}
                      className={`cell ${toneOf(slice)}`}
                      x={(missing.length + place) * 10}
                      width="9"
                      height="18"
                      rx="2"
                    >
                      <title>{describe(slice)}</title>
                    </rect>
                  ))}
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function toneOf({ status, calls, failed, checks_failed: checks }: Slice): string {
  if (status === null || status === 'DISCONNECTED') return 'off';
  if (status === 'ERROR') return 'bad';
  if (calls > 0 && failed / calls > 0.5) return 'bad';
  if (failed > 0 || checks > 0 || status === 'DEGRADED') return 'warn';
  if (status === 'CONNECTING') return 'busy';
  return calls > 0 ? 'good strong' : 'good';
}

function describe({ at, status, calls, failed }: Slice): string {
  const state = status === null ? 'unknown' : (statusWords[status as Status] ?? status);
  return `${clock(at)}: ${state}, ${count(calls, 'call')}${failed > 0 ? `, ${failed} failed` : ''}`;
}

function summarise(slices: readonly Slice[]): string {
  const bad = slices.filter((slice) => toneOf(slice) === 'bad').length;
  const warn = slices.filter((slice) => toneOf(slice) === 'warn').length;
  if (bad + warn === 0) return `no problems in ${count(slices.length, 'slice')} of five minutes`;
  return `${bad} not reachable and ${warn} unstable of ${count(slices.length, 'slice')} of five minutes`;
}
