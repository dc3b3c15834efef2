/** How a server is reached and used, edited in place. Secrets are shown as `***` and stay as they are stored. */
import { type FormEvent, useState } from 'react';
import { api, type Json, type ServerDetail, serverPath } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { say } from '../parts/messages.tsx';
import { Failure } from '../parts/notice.tsx';
import { masked, type Pair, Pairs } from '../parts/pairs.tsx';
import { resources } from '../resource.ts';
import { useIsUnboundAdmin } from '../session.ts';
import styles from './server-configuration.module.css';

export function Configuration({ server }: { server: ServerDetail }) {
  const isAdmin = useIsUnboundAdmin();
  if (!isAdmin) {
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
      <pre tabIndex={0}>{JSON.stringify(server.connection_config, null, 2)}</pre>
    );
  }
  // What is being written must not change under one's hands when an event reports a change.
  return <ConfigurationForm key={server.id} server={server} />;
}

/** What the form shows, as text; everything else of the configuration stays as it is. */
interface Draft {
  description: string;
  healthUrl: string;
  autoConnect: boolean;
  command: string;
  args: string;
  cwd: string;
  url: string;
  pairs: Pair[];
  options: Record<string, string>;
}

const choices: { name: string; label: string; values: string[]; help: string }[] = [
  {
    name: 'start',
    label: 'Start',
    values: ['always', 'on_demand'],
    help: 'on_demand: the first call starts the server; it is parked when idle',
  },
  {
    name: 'sessions',
    label: 'Sessions',
    values: ['auto', 'shared', 'client', 'principal'],
    help: 'Who shares a session: all callers, one MCP client, or one user',
  },
  { name: 'protocol', label: 'Protocol', values: ['auto', 'legacy', 'modern'], help: 'legacy: up to 2025-11-25' },
  {
    name: 'credentials',
    label: 'Credentials',
    values: ['shared', 'per_principal'],
    help: 'per_principal: each user logs in to the server',
  },
];
const numbers = [
  { name: 'request_timeout', label: 'Timeout of a call (seconds)' },
  { name: 'max_concurrent_calls', label: 'Calls at the same time' },
  { name: 'max_queued_calls', label: 'Waiting calls' },
];

const text = (value: unknown) => (typeof value === 'string' ? value : '');

function toDraft(server: ServerDetail): Draft {
  const config = server.connection_config;
  const pairs = (server.transport_type === 'STDIO' ? config.env : config.headers) ?? {};
  return {
    description: server.description ?? '',
    healthUrl: server.health_check_url ?? '',
    autoConnect: server.auto_connect,
    command: text(config.command),
    args: Array.isArray(config.args) ? config.args.join('\n') : '',
    cwd: text(config.cwd),
    url: text(config.base_url ?? config.url),
    pairs: Object.entries(pairs).map(([name, value]) => ({ name, value: String(value) })),
    options: Object.fromEntries([...choices, ...numbers].map(({ name }) => [name, String(server.options[name] ?? '')])),
  };
}

function toConnection(server: ServerDetail, draft: Draft): Json {
  const pairs = Object.fromEntries(
    draft.pairs.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]),
  );
  const kept = server.connection_config;
  if (server.transport_type === 'STDIO') {
    const args = draft.args.split('\n').filter((line) => line !== '');
    return { ...kept, command: draft.command.trim(), args, env: pairs, cwd: draft.cwd.trim() || undefined };
  }
  const address = server.transport_type === 'HTTP' ? { base_url: draft.url.trim() } : { url: draft.url.trim() };
  return { ...kept, ...address, headers: pairs };
}

function toOptions(server: ServerDetail, draft: Draft): Json {
  const isNumber = new Set(numbers.map(({ name }) => name));
  const given = Object.entries(draft.options).map(([name, value]) => [
    name,
    value === '' ? undefined : isNumber.has(name) ? Number(value) : value,
  ]);
  return { ...server.options, ...Object.fromEntries(given) };
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

function toPatch(server: ServerDetail, draft: Draft): Json {
  const before = toDraft(server);
  const [was, is] = [toConnection(server, before), toConnection(server, draft)];
  const [optionsWere, options] = [toOptions(server, before), toOptions(server, draft)];
  return {
    ...(draft.description === before.description ? {} : { description: draft.description || null }),
    ...(draft.healthUrl === before.healthUrl ? {} : { health_check_url: draft.healthUrl || null }),
    ...(draft.autoConnect === before.autoConnect ? {} : { auto_connect: draft.autoConnect }),
    ...(isSame(was, is) ? {} : { connection_config: is }),
    ...(isSame(optionsWere, options) ? {} : { options }),
  };
}

function ConfigurationForm({ server }: { server: ServerDetail }) {
  const [draft, setDraft] = useState(() => toDraft(server));
  const { running, error, run } = useAction();
  const change = (changed: Partial<Draft>) => setDraft({ ...draft, ...changed });
  const patch = toPatch(server, draft);
  const isChanged = Object.keys(patch).length > 0;
  const save = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      const saved = await api<ServerDetail>('PATCH', serverPath(server.id), patch);
      resources.setQueryData([serverPath(server.name)], saved);
      await resources.invalidateQueries();
      setDraft(toDraft({ ...server, ...saved }));
      say('Saved.');
    });
  };
  return (
    <form onSubmit={save} className={styles.form} aria-label="Configuration">
      {server.origin === 'file' && (
        <p className="dim">This server comes from the config file, which takes precedence at the next start.</p>
      )}
      <h2>Connection</h2>
      <ConnectionFields server={server} draft={draft} change={change} />
      <h2>Use</h2>
      <Field label="Description" value={draft.description} onChange={(description) => change({ description })} />
      <Field
        label="Health check URL"
        value={draft.healthUrl}
        help="Without a URL, health checks use the MCP session."
        onChange={(healthUrl) => change({ healthUrl })}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={draft.autoConnect}
          onChange={(event) => change({ autoConnect: event.target.checked })}
        />
        Connect when the aggregator starts
      </label>
      <OptionFields options={draft.options} onChange={(options) => change({ options })} />
      <Failure error={error} />
      {error?.problems.some(({ msg }) => msg.includes(masked)) === true && (
        <p className="problem">
          The command or the address changed: enter the stored secrets again. They are not sent elsewhere unasked.
        </p>
      )}
      <div className={`actions ${styles.save}`}>
        <button type="submit" className="primary" disabled={running || !isChanged}>
          {'connection_config' in patch ? 'Save and reconnect' : 'Save'}
        </button>
        <button type="button" disabled={!isChanged} onClick={() => setDraft(toDraft(server))}>
          Discard changes
        </button>
      </div>
    </form>
  );
}

function ConnectionFields({
  server,
  draft,
  change,
}: {
  server: ServerDetail;
  draft: Draft;
  change: (changed: Partial<Draft>) => void;
}) {
  const onPairs = (pairs: Pair[]) => change({ pairs });
  if (server.transport_type !== 'STDIO') {
    return (
      <>
        <Field label="Address" value={draft.url} onChange={(url) => change({ url })} />
        <Pairs legend="Headers" one="header" pairs={draft.pairs} onChange={onPairs} />
      </>
    );
  }
  return (
    <>
      <Field label="Command" value={draft.command} onChange={(command) => change({ command })} />
      <Field label="Arguments" value={draft.args} rows={3} help="One per line" onChange={(args) => change({ args })} />
      <Pairs legend="Environment" one="variable" pairs={draft.pairs} onChange={onPairs} />
      <Field label="Working directory" value={draft.cwd} onChange={(cwd) => change({ cwd })} />
    </>
  );
}

function OptionFields({
  options,
  onChange,
}: {
  options: Record<string, string>;
  onChange: (options: Record<string, string>) => void;
}) {
  const set = (name: string, value: string) => onChange({ ...options, [name]: value });
  return (
    <div className={styles.options}>
      {choices.map(({ name, label, values, help }) => (
        <div className="field" key={name}>
          <label htmlFor={`option-${name}`}>{label}</label>
          <select id={`option-${name}`} value={options[name]} onChange={(event) => set(name, event.target.value)}>
            <option value="">default</option>
            {values.map((value) => (
              <option key={value} value={value}>
                {value}
              </option>
            ))}
          </select>
          <p className="help">{help}</p>
        </div>
      ))}
      {numbers.map(({ name, label }) => (
        <div className="field" key={name}>
          <label htmlFor={`option-${name}`}>{label}</label>
          <input
            id={`option-${name}`}
            type="number"
            min={0}
            step="any"
            placeholder="default"
            value={options[name]}
            onChange={(event) => set(name, event.target.value)}
          />
        </div>
      ))}
    </div>
  );
}

function Field({
  label,
  value,
  help,
  rows,
  onChange,
}: {
  label: string;
  value: string;
  help?: string;
  rows?: number;
  onChange: (value: string) => void;
}) {
  const id = `edit-${label.toLowerCase().replaceAll(' ', '-')}`;
  const common = {
    id,
    value,
    spellCheck: false,
    autoComplete: 'off',
    'aria-describedby': help === undefined ? undefined : `${id}-help`,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {rows === undefined ? <input {...common} /> : <textarea {...common} className="code" rows={rows} />}
      {help !== undefined && (
        <p className="help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}
