/** Skills as areas: the more tools, the larger. */
import { count } from '../words.ts';

interface Area {
  skill: string;
  tools: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

export function SkillMap({
  skills,
  chosen,
  onChoose,
}: {
  skills: ReadonlyMap<string, number>;
  chosen: string;
  onChoose: (skill: string) => void;
}) {
  const entries = [...skills].sort((a, b) => b[1] - a[1]);
  const aspect = window.matchMedia('(max-width: 46rem)').matches ? 1 : 3;
  return (
    <ul className="skill-map" aria-label="Categories (skills) by number of tools">
      {layOut(entries, { x: 0, y: 0, width: 100, height: 100 }, aspect).map(
        ({ skill, tools, x, y, width, height }, place) => (
          <li key={skill} style={{ left: `${x}%`, top: `${y}%`, width: `${width}%`, height: `${height}%` }}>
            <button
              type="button"
              className={`shade-${place % 5}`}
              aria-pressed={chosen === skill}
              title={`${skill}: ${count(tools, 'tool')}`}
              onClick={() => onChoose(chosen === skill ? '' : skill)}
            >
              <span>{skill.replaceAll('_', ' ')}</span> <span>{tools}</span>
            </button>
          </li>
        ),
      )}
    </ul>
  );
}

/** Halves the room along its longer side, and the skills so that both halves have about as many tools as room. */
export function layOut(
  entries: readonly (readonly [string, number])[],
  room: { x: number; y: number; width: number; height: number },
  /** The map is drawn about so many times as wide as high. */
  aspect: number,
): Area[] {
  const [only] = entries;
  if (only === undefined) return [];
  if (entries.length === 1) return [{ skill: only[0], tools: only[1], ...room }];
  const total = sum(entries);
  let cut = 1;
  while (cut < entries.length - 1 && sum(entries.slice(0, cut + 1)) <= total / 2) cut += 1;
  const share = sum(entries.slice(0, cut)) / total;
  const { x, y, width, height } = room;
  const [a, b] =
    width * aspect >= height
      ? [
          { ...room, width: width * share },
          { ...room, x: x + width * share, width: width * (1 - share) },
        ]
      : [
          { ...room, height: height * share },
          { ...room, y: y + height * share, height: height * (1 - share) },
        ];
  return [...layOut(entries.slice(0, cut), a, aspect), ...layOut(entries.slice(cut), b, aspect)];
}

const sum = (entries: readonly (readonly [string, number])[]) => entries.reduce((total, [, tools]) => total + tools, 0);
