/** A call as code, to copy. The token is read from the environment and never written. */
import type { Json } from './api.ts';
import { toMessage } from './mcp-call.ts';
import type { CallTarget } from './playground-calls.ts';

export interface Snippet {
  name: string;
  text: string;
}

type Call = Pick<CallTarget, 'kind' | 'name' | 'args' | 'request'>;

export function toSnippets(call: Call, origin: string): Snippet[] {
  const mcp = { name: 'MCP request', text: JSON.stringify(toMessage(call.request), null, 2) };
  const typescript = { name: 'TypeScript', text: toTypeScript(call, origin) };
  if (call.kind !== 'tool') return [mcp, typescript];
  return [
    { name: 'curl', text: toCurl(call, origin) },
    { name: 'Command line', text: `mcp-aggregator call ${call.name} ${quoted(JSON.stringify(call.args))}` },
    typescript,
    { name: 'Python', text: toPython(call, origin) },
    mcp,
  ];
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function toCurl({ name, args }: Call, origin: string): string {
  return [
    `curl -X POST ${origin}/api/v1/tools/call`,
    `-H "Authorization: Bearer $MCP_AGGREGATOR_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify({ name, arguments: args }))}`,
  ].join(' \\\n  ');
}

const clientCalls = { 'tools/call': 'callTool', 'resources/read': 'readResource', 'prompts/get': 'getPrompt' } as const;

function toTypeScript({ request: { endpoint, method, params } }: Call, origin: string): string {
  const call = clientCalls[method as keyof typeof clientCalls];
  return `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(
  new StreamableHTTPClientTransport(new URL('${origin}${endpoint}'), {
    requestInit: { headers: { Authorization: \`Bearer \${process.env.MCP_AGGREGATOR_TOKEN}\` } },
  }),
);
const result = await client.${call}(${JSON.stringify(params, null, 2)});
console.log(JSON.stringify(result));
await client.close();
`;
}

function toPython({ name, args }: Call, origin: string): string {
  return `import json
import os
import urllib.request

request = urllib.request.Request(
    "${origin}/api/v1/tools/call",
    data=json.dumps(${toPythonValue({ name, arguments: args }, '    ')}).encode(),
    headers={
        "Authorization": f"Bearer {os.environ['MCP_AGGREGATOR_TOKEN']}",
        "Content-Type": "application/json",
    },
)
with urllib.request.urlopen(request) as response:
    print(json.dumps(json.load(response)))
`;
}

function toPythonValue(value: unknown, indent: string): string {
  const inner = `${indent}    `;
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((part) => `${inner}${toPythonValue(part, inner)},\n`).join('')}${indent}]`;
  }
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value as Json);
  if (entries.length === 0) return '{}';
  const lines = entries.map(([key, part]) => `${inner}${JSON.stringify(key)}: ${toPythonValue(part, inner)},\n`);
  return `{\n${lines.join('')}${indent}}`;
}
