import { useId } from 'react';

/** A labelled text; with `rows` it has several lines. */
export function TextField({
  label,
  help,
  rows,
  value,
  onChange,
  ...more
}: {
  label: string;
  help?: string;
  rows?: number;
  value: string;
  onChange: (value: string) => void;
  onBlur?: () => void;
  required?: boolean;
  pattern?: string;
  type?: 'text' | 'url' | 'date';
  disabled?: boolean;
  placeholder?: string;
  maxLength?: number;
}) {
  const id = useId();
  const common = {
    id,
    value,
    spellCheck: false,
    'aria-describedby': help === undefined ? undefined : `${id}-help`,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  const { type, pattern, ...both } = more;
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {more.required === true && <span className="needed"> required</span>}
      </label>
      {rows === undefined ? (
        <input {...common} {...both} type={type} pattern={pattern} autoComplete="off" />
      ) : (
        <textarea {...common} {...both} className="code" rows={rows} />
      )}
      {help !== undefined && (
        <p id={`${id}-help`} className="help">
          {help}
        </p>
      )}
    </div>
  );
}
