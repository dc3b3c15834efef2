/** What is entered in a form made from a schema, as fields or as JSON. Problems show after the first attempt to send. */
import { useMemo, useState } from 'react';
import type { Json } from '../api.ts';
import { isObject, type Problems, readJson, type Schema, startValue, validate, withoutGaps } from '../schema.ts';

export interface ArgumentsForm {
  value: Json;
  /** The same as JSON, while it is entered so. */
  text: string | undefined;
  /** What would be sent; undefined while the JSON is none. */
  current: Json | undefined;
  /** They follow what is typed. */
  problems: Problems;
  setValue(value: Json): void;
  setText(text: string): void;
  toggleText(): void;
  /** What to send; undefined, with its problems shown, where something is wrong. */
  check(): Json | undefined;
}

export function useArguments(schema: Schema, initial?: Json): ArgumentsForm {
  const [value, setValue] = useState<Json>(() => initial ?? startObject(schema));
  const [text, setText] = useState<string>();
  const [checked, setChecked] = useState(false);
  const current = useMemo(() => {
    const entered = text === undefined ? withoutGaps(value) : readJson(text)?.value;
    return isObject(entered) ? entered : undefined;
  }, [value, text]);
  const problems = useMemo(
    () =>
      current === undefined ? { '': 'is not a JSON object' } : validate(text === undefined ? value : current, schema),
    [value, text, current, schema],
  );
  return {
    value,
    text,
    current,
    problems: checked ? problems : {},
    setValue,
    setText,
    toggleText() {
      if (text === undefined) return setText(JSON.stringify(current, null, 2));
      if (current !== undefined) setValue(current);
      setText(undefined);
    },
    check() {
      setChecked(true);
      return Object.keys(problems).length === 0 ? current : undefined;
    },
  };
}

function startObject(schema: Schema): Json {
  const start = startValue(schema, schema);
  return isObject(start) ? start : {};
}
