import styles from './pairs.module.css';

export interface Pair {
  name: string;
  value: string;
}

/** How the API shows a stored secret; sent back unchanged, it stays as it is. */
export const masked = '***';

/** Names and values, such as headers or an environment. A stored secret is replaced by typing, and kept otherwise. */
export function Pairs({
  legend,
  one,
  pairs,
  onChange,
}: {
  legend: string;
  /** What one of them is called. */
  one: string;
  pairs: readonly Pair[];
  onChange: (pairs: Pair[]) => void;
}) {
  const set = (place: number, changed: Partial<Pair>) =>
    onChange(pairs.map((pair, at) => (at === place ? { ...pair, ...changed } : pair)));
  return (
    <fieldset>
      <legend>{legend}</legend>
      {pairs.map(({ name, value }, place) => {
        const isKept = value.includes(masked);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: names change while they are typed
          <div key={place} className={styles.pair}>
            <input
              aria-label={`Name of ${one} ${place + 1}`}
              autoComplete="off"
              spellCheck={false}
              value={name}
              onChange={(event) => set(place, { name: event.target.value })}
            />
            <input
              aria-label={`Value of ${name === '' ? `${one} ${place + 1}` : name}`}
              autoComplete="off"
              spellCheck={false}
              placeholder={isKept ? 'stored secret, kept' : ''}
              value={isKept ? '' : value}
              onChange={(event) => set(place, { value: event.target.value })}
            />
            <button
              type="button"
              className="quiet icon"
              aria-label={`Remove ${name === '' ? `${one} ${place + 1}` : name}`}
              onClick={() => onChange(pairs.filter((_, at) => at !== place))}
            >
              ✕
            </button>
          </div>
        );
      })}
      <button type="button" className="small" onClick={() => onChange([...pairs, { name: '', value: '' }])}>
        Add a {one}
      </button>
      <p className="help">{'${NAME} is replaced with a variable of the aggregator.'}</p>
    </fieldset>
  );
}
