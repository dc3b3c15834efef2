const openDepth = 4;
const maxOpen = 50;
const maxShown = 500;

/** A JSON value that can be folded. */
export function JsonTree({ value, name, depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  if (typeof value !== 'object' || value === null) {
    return (
      <div className="json">
        {name !== undefined && <span className="key">{name}: </span>}
        <span className={`value ${value === null ? 'null' : typeof value}`}>{JSON.stringify(value)}</span>
      </div>
    );
  }
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  const size = isList ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <details className="json" open={depth < openDepth && (depth === 0 || entries.length <= maxOpen)}>
      <summary>
        {name !== undefined && <span className="key">{name}: </span>}
        <span className="dim">{size}</span>
      </summary>
      {entries.slice(0, maxShown).map(([key, part]) => (
        <JsonTree key={key} name={key} value={part} depth={depth + 1} />
      ))}
      {entries.length > maxShown && <p className="dim">and {entries.length - maxShown} more</p>}
    </details>
  );
}
