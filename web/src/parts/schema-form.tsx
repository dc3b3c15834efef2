/** A form made from a JSON Schema. The value is the JSON that will be sent; a field left empty is left out. */
import { type ReactNode, useId, useState } from 'react';
import type { Json } from '../api.ts';
import {
  isBlank,
  isObject,
  kindOf,
  optionsOf,
  type Problems,
  plainVariants,
  readJson,
  type Schema,
  simplify,
  startValue,
  typesOf,
  validate,
} from '../schema.ts';

interface FieldProps {
  /** An entry of a list: its fields are there from the start, and it is left out while they are empty. */
  entry?: boolean;
  schema: Schema;
  root: Schema;
  path: string;
  name: string;
  required: boolean;
  value: unknown;
  problems: Problems;
  onChange: (value: unknown) => void;
}

export function SchemaForm({
  schema,
  value,
  problems,
  onChange,
}: {
  schema: Schema;
  value: Json;
  problems: Problems;
  onChange: (value: Json) => void;
}) {
  const fields = Object.keys(simplify(schema, schema).properties ?? {});
  if (fields.length === 0) return <p className="dim">This tool has no arguments.</p>;
  return <ObjectFields schema={schema} root={schema} path="" value={value} problems={problems} onChange={onChange} />;
}

function ObjectFields({
  schema: given,
  root,
  path,
  value,
  problems,
  onChange,
}: Omit<FieldProps, 'name' | 'required' | 'value' | 'onChange'> & { value: Json; onChange: (value: Json) => void }) {
  const schema = simplify(given, root);
  const names = Object.keys(schema.properties ?? {});
  const required = new Set(schema.required);
  // What must be filled in comes first.
  const ordered = [...names.filter((name) => required.has(name)), ...names.filter((name) => !required.has(name))];
  const set = (name: string, part: unknown) => {
    const { [name]: _before, ...others } = value;
    onChange(part === undefined ? others : { ...others, [name]: part });
  };
  return ordered.map((name) => (
    <Field
      key={name}
      schema={schema.properties?.[name] ?? {}}
      root={root}
      path={path === '' ? name : `${path}.${name}`}
      name={name}
      required={required.has(name)}
      value={value[name]}
      problems={problems}
      onChange={(part) => set(name, part)}
    />
  ));
}

function Field(props: FieldProps) {
  const schema = simplify(props.schema, props.root);
  const own = { ...props, schema };
  switch (kindOf(schema, props.root)) {
    case 'object':
      return <ObjectField {...own} />;
    case 'array':
      return <ArrayField {...own} />;
    case 'multiple':
      return <MultipleField {...own} />;
    case 'choice':
      return <ChoiceField {...own} />;
    case 'raw':
      return <RawField {...own} />;
    default:
      return <PlainField {...own} />;
  }
}

function PlainField({ schema, path, name, required, value, problems, onChange }: FieldProps) {
  const id = useId();
  const problem = problems[path];
  const described = [schema.description !== undefined && `${id}-help`, problem !== undefined && `${id}-problem`]
    .filter(Boolean)
    .join(' ');
  const common = {
    id,
    name: path,
    'aria-describedby': described === '' ? undefined : described,
    'aria-invalid': problem === undefined ? undefined : true,
    'aria-required': required || undefined,
  };
  const kind = kindOf(schema);
  return (
    <div className={kind === 'boolean' ? 'field check' : 'field'}>
      <label htmlFor={id}>
        {schema.title ?? name}
        {required && <span className="needed"> required</span>}
      </label>
      {kind === 'enum' && (
        <EnumInput schema={schema} required={required} value={value} onChange={onChange} common={common} />
      )}
      {kind === 'boolean' && (
        <input
          {...common}
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.target.checked)}
        />
      )}
      {(kind === 'number' || kind === 'integer') && (
        <input
          {...common}
          type="number"
          step={kind === 'integer' ? 1 : 'any'}
          value={typeof value === 'number' ? value : ''}
          placeholder={schema.default === undefined ? undefined : String(schema.default)}
          onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.valueAsNumber)}
        />
      )}
      {kind === 'string' && <TextInput schema={schema} value={value} onChange={onChange} common={common} />}
      {schema.description !== undefined && (
        <p id={`${id}-help`} className="help">
          {schema.description}
        </p>
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} className="problem">
          {problem}
        </p>
      )}
    </div>
  );
}

type Common = { id: string; name: string };
type InputProps = { schema: Schema; value: unknown; onChange: (value: unknown) => void; common: Common };

const inputTypes: Record<string, string> = { date: 'date', email: 'email', uri: 'url', time: 'time' };
const longWords = /content|body|text|code|query|prompt|message|description|script|markdown|sql/i;

function TextInput({ schema, value, onChange, common }: InputProps) {
  const text = typeof value === 'string' ? value : '';
  const change = (next: string) => onChange(next === '' ? undefined : next);
  const format = typeof schema.format === 'string' ? schema.format : '';
  if (text.includes('\n') || text.length > 80 || (longWords.test(common.name) && format === '')) {
    return <textarea {...common} rows={3} value={text} onChange={(event) => change(event.target.value)} />;
  }
  return (
    <input
      {...common}
      type={inputTypes[format] ?? 'text'}
      value={text}
      autoComplete="off"
      spellCheck={false}
      placeholder={typeof schema.default === 'string' ? schema.default : undefined}
      onChange={(event) => change(event.target.value)}
    />
  );
}

function EnumInput({ schema, required, value, onChange, common }: InputProps & { required: boolean }) {
  const options = optionsOf(schema) ?? [];
  const chosen = options.findIndex((option) => isSame(option.value, value));
  return (
    <select {...common} value={chosen} onChange={(event) => onChange(options[Number(event.target.value)]?.value)}>
      <option value={-1}>{required ? 'Choose…' : 'Not set'}</option>
      {options.map((option, place) => (
        <option key={JSON.stringify(option.value)} value={place}>
          {option.title}
        </option>
      ))}
    </select>
  );
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** Several of a few values: checkboxes, in the order of the schema. */
function MultipleField(props: FieldProps) {
  const { schema, root, required, value, onChange } = props;
  const options = (typeof schema.items === 'object' && optionsOf(simplify(schema.items, root))) || [];
  const chosen = Array.isArray(value) ? (value as unknown[]) : [];
  const isChosen = (option: unknown) => chosen.some((each) => isSame(each, option));
  const toggle = (option: unknown, checked: boolean) => {
    const next = options.map((each) => each.value).filter((each) => (isSame(each, option) ? checked : isChosen(each)));
    onChange(next.length === 0 && !required ? undefined : next);
  };
  return (
    <Group {...props}>
      {options.map(({ value: option, title }) => (
        <label key={JSON.stringify(option)} className="check">
          <input
            type="checkbox"
            checked={isChosen(option)}
            onChange={(event) => toggle(option, event.target.checked)}
          />{' '}
          {title}
        </label>
      ))}
    </Group>
  );
}

function Group({ schema, name, required, path, problems, children }: FieldProps & { children: ReactNode }) {
  const id = useId();
  const problem = problems[path];
  return (
    <fieldset aria-describedby={problem === undefined ? undefined : id}>
      <legend>
        {schema.title ?? name}
        {required && <span className="needed"> required</span>}
      </legend>
      {schema.description !== undefined && <p className="help">{schema.description}</p>}
      {problem !== undefined && (
        <p id={id} className="problem">
          {problem}
        </p>
      )}
      {children}
    </fieldset>
  );
}

function ObjectField(props: FieldProps) {
  const { schema, root, path, name, required, value, problems, entry, onChange } = props;
  if (entry) {
    return (
      <Group {...props}>
        <ObjectFields
          schema={schema}
          root={root}
          path={path}
          value={isObject(value) ? value : {}}
          problems={problems}
          onChange={(next) => onChange(isBlank(next) ? undefined : next)}
        />
      </Group>
    );
  }
  if (!isObject(value)) {
    return (
      <Group {...props}>
        <button type="button" className="small" onClick={() => onChange(startValue(schema, root))}>
          Add {name}
        </button>
      </Group>
    );
  }
  return (
    <Group {...props}>
      <ObjectFields schema={schema} root={root} path={path} value={value} problems={problems} onChange={onChange} />
      {!required && (
        <button type="button" className="small quiet" onClick={() => onChange(undefined)}>
          Leave out {name}
        </button>
      )}
    </Group>
  );
}

function ArrayField(props: FieldProps) {
  const { schema, root, path, name, value, problems, onChange } = props;
  const list = Array.isArray(value) ? (value as unknown[]) : [];
  const items = typeof schema.items === 'object' ? schema.items : {};
  const replace = (place: number, part: unknown) => onChange(list.map((old, at) => (at === place ? part : old)));
  return (
    <Group {...props}>
      {list.map((part, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an entry has nothing but its place
        <div className="entry" key={place}>
          <Field
            schema={items}
            root={root}
            path={`${path}.${place}`}
            name={`${name} ${place + 1}`}
            required={false}
            entry
            value={part}
            problems={problems}
            onChange={(next) => replace(place, next)}
          />
          <button
            type="button"
            className="small quiet"
            aria-label={`Remove ${name} ${place + 1}`}
            onClick={() => onChange(list.filter((_, at) => at !== place))}
          >
            ✕
          </button>
        </div>
      ))}
      <button
        type="button"
        className="small"
        onClick={() => {
          const start = startValue(items, root);
          onChange([...list, isBlank(start) ? undefined : start]);
        }}
      >
        Add to {name}
      </button>
    </Group>
  );
}

function ChoiceField(props: FieldProps) {
  const { schema, root, name, required, value, onChange } = props;
  const variants = plainVariants(schema).map((variant) => simplify(variant, root));
  const [chosen, setChosen] = useState(() => (value === undefined ? -1 : guess(variants, root, value)));
  const id = useId();
  const variant = variants[chosen];
  return (
    <Group {...props}>
      <div className="field">
        <label htmlFor={id}>Kind of {name}</label>
        <select
          id={id}
          value={chosen}
          onChange={(event) => {
            const next = Number(event.target.value);
            setChosen(next);
            onChange(next === -1 ? undefined : startValue(variants[next] ?? {}, root));
          }}
        >
          <option value={-1}>{required ? 'Choose…' : 'Not set'}</option>
          {variants.map((each, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: variants have no names
            <option key={place} value={place}>
              {each.title ?? each.description ?? (typesOf(each).join(' or ') || `form ${place + 1}`)}
            </option>
          ))}
        </select>
      </div>
      {variant !== undefined && <Field {...props} key={chosen} schema={variant} required />}
    </Group>
  );
}

/** The variant that a value was entered in: the one that it fits, or that has its type. */
function guess(variants: Schema[], root: Schema, value: unknown): number {
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  const ofType = variants.findIndex((variant) => typesOf(variant).includes(type));
  const fitting = variants.findIndex((variant) => Object.keys(validate(value, variant, root)).length === 0);
  return Math.max(0, fitting === -1 ? ofType : fitting);
}

/** Values without a form field are entered as JSON. */
function RawField({ schema, path, name, required, value, problems, onChange }: FieldProps) {
  const id = useId();
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)));
  const [broken, setBroken] = useState(false);
  const problem = broken ? 'is not valid JSON' : problems[path];
  const change = (next: string) => {
    setText(next);
    const read = readJson(next);
    setBroken(read === undefined && next.trim() !== '');
    onChange(read?.value);
  };
  return (
    <div className="field">
      <label htmlFor={id}>
        {schema.title ?? name} <span className="dim">as JSON</span>
        {required && <span className="needed"> required</span>}
      </label>
      <textarea
        id={id}
        rows={3}
        className="code"
        spellCheck={false}
        value={text}
        aria-invalid={problem === undefined ? undefined : true}
        aria-describedby={problem === undefined ? undefined : `${id}-problem`}
        onChange={(event) => change(event.target.value)}
      />
      {schema.description !== undefined && <p className="help">{schema.description}</p>}
      {problem !== undefined && (
        <p id={`${id}-problem`} className="problem">
          {problem}
        </p>
      )}
    </div>
  );
}
