import type { ReactNode } from 'react';
import { useParameter } from '../route.ts';

/** The filter of a list, kept in the address (`?q=`); `/` moves the focus into it. */
export function SearchBar({ label, children }: { label: string; children?: ReactNode }) {
  const [text, setText] = useParameter('q');
  return (
    <search className="bar">
      <input
        type="search"
        className="grow"
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {children}
    </search>
  );
}

/** One of few choices, kept in the address. */
export function Choice({
  parameter,
  label,
  options,
}: {
  parameter: string;
  label: string;
  /** The first is what holds without a choice. */
  options: readonly { value: string; name: string }[];
}) {
  const [value, setValue] = useParameter(parameter, options[0]?.value);
  return (
    <select aria-label={label} value={value} onChange={(event) => setValue(event.target.value)}>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.name}
        </option>
      ))}
    </select>
  );
}
