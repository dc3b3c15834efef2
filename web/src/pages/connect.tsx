import { useState } from 'react';
import type { Profile } from '../api.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { useResource } from '../resource.ts';
import { linkTo } from '../route.ts';

interface ClientGuide {
  id: string;
  name: string;
  file: string;
  entry: (url: string) => string;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);
const headers = { Authorization: 'Bearer <token>' };

const clients: ClientGuide[] = [
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    file: 'claude_desktop_config.json',
    entry: (url) =>
      json({
        mcpServers: {
          gateway: {
            command: 'mcp-aggregator',
            args: ['stdio', '--url', new URL(url).origin],
            env: { MCP_AGGREGATOR_TOKEN: '<token>' },
          },
        },
      }),
  },
  {
    id: 'claude-code',
    name: 'Claude Code',
    file: '~/.claude.json',
    entry: (url) => json({ mcpServers: { gateway: { type: 'http', url, headers, alwaysLoad: true } } }),
  },
  {
    id: 'cursor',
    name: 'Cursor',
    file: '~/.cursor/mcp.json',
    entry: (url) => json({ mcpServers: { gateway: { url, headers } } }),
  },
  {
    id: 'vscode',
    name: 'VS Code',
    file: 'mcp.json of the user',
    entry: (url) => json({ servers: { gateway: { type: 'http', url, headers } } }),
  },
  {
    id: 'codex',
    name: 'Codex',
    file: '~/.codex/config.toml',
    entry: (url) => `[mcp_servers.gateway]\nurl = "${url}"\nhttp_headers = { "Authorization" = "Bearer <token>" }`,
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    file: '~/.codeium/windsurf/mcp_config.json',
    entry: (url) => json({ mcpServers: { gateway: { serverUrl: url, headers } } }),
  },
  {
    id: 'zed',
    name: 'Zed',
    file: '~/.config/zed/settings.json',
    entry: (url) => json({ context_servers: { gateway: { url, headers } } }),
  },
];

export function ConnectPage() {
  const [chosen, setChosen] = useState('claude-code');
  const [profile, setProfile] = useState('');
  const { data } = useResource<{ profiles: Profile[] }>('/api/v1/profiles');
  const client = clients.find(({ id }) => id === chosen);
  const url = `${window.location.origin}${profile === '' ? '/mcp' : `/mcp/profiles/${profile}`}`;
  const command = `mcp-aggregator connect-client ${chosen}${profile === '' ? '' : ` --profile ${profile}`}`;
  return (
    <>
      <h1>Connect a client</h1>
      <p>Your assistant then sees the tools of all servers through one endpoint.</p>
      <div className="bar">
        <div className="field">
          <label htmlFor="client">Client</label>
          <select id="client" value={chosen} onChange={(event) => setChosen(event.target.value)}>
            {clients.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor="profile">Tools</label>
          <select id="profile" value={profile} onChange={(event) => setProfile(event.target.value)}>
            <option value="">All tools</option>
            {(data?.profiles ?? []).map(({ name }) => (
              <option key={name} value={name}>
                Profile {name}
              </option>
            ))}
          </select>
        </div>
      </div>
      <section className="card">
        <h2>With one command</h2>
        <p>
          The command creates a token, shows the change before it writes it, keeps a backup, and can be undone with{' '}
          <code>--undo</code>. Run it on the host of the client:
        </p>
        <Snippet text={command} />
      </section>
      {client !== undefined && (
        <section className="card">
          <h2>Manually</h2>
          <p>
            Create a token on the page <a href={linkTo('access')}>Access</a> and put this into{' '}
            <code>{client.file}</code>:
          </p>
          <Snippet text={client.entry(url)} />
        </section>
      )}
      <section className="card">
        <h2>Other clients</h2>
        <dl className="rows">
          <div>
            <dt>Streamable HTTP</dt>
            <dd>
              <code>{url}</code>
            </dd>
          </div>
          <div>
            <dt>SSE (2024-11-05)</dt>
            <dd>
              <code>{window.location.origin}/sse</code>
            </dd>
          </div>
          <div>
            <dt>REST</dt>
            <dd>
              <a href="/openapi.json">/openapi.json</a>
            </dd>
          </div>
        </dl>
      </section>
    </>
  );
}

function Snippet({ text }: { text: string }) {
  return (
    <div className="snippet">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} />
    </div>
  );
}
