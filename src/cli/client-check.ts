/** Does with an entry of a client's config file what the client does: connects, lists the tools, calls one. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { createParser } from 'eventsource-parser';
import { toWindowsCommand } from '../windows-process.ts';
import type { ClientEntry } from './client-configs/clients.ts';

type Message = Record<string, unknown>;

/** Sends requests in the same way as the client. */
interface ClientWire {
  request(method: string, params: Message): Promise<Message>;
  notify(method: string): Promise<void>;
  close(): Promise<void>;
}

interface ListedTool {
  name: string;
  inputSchema?: { required?: string[] };
  annotations?: { readOnlyHint?: boolean };
}

export interface CheckedEntry {
  server: string;
  tools: string[];
  /** The tool that was called. */
  called?: string;
}

const patienceMs = 20_000;

export async function checkEntry(
  entry: ClientEntry,
  environment: NodeJS.ProcessEnv,
  { call = false }: { call?: boolean } = {},
): Promise<CheckedEntry> {
  const wire = typeof entry.command === 'string' ? stdioWire(entry, environment) : httpWire(entry);
  try {
    const { serverInfo } = await wire.request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'mcp-aggregator doctor', version: '1' },
    });
    await wire.notify('notifications/initialized');
    const tools = (await wire.request('tools/list', {})).tools as ListedTool[];
    const checked = { server: String((serverInfo as Message).name), tools: tools.map((tool) => tool.name) };
    return call ? { ...checked, called: await callOne(wire, tools) } : checked;
  } finally {
    await wire.close();
  }
}

/** One that only reads and needs nothing, else our own search. */
async function callOne(wire: ClientWire, tools: readonly ListedTool[]): Promise<string> {
  const harmless = tools.find(
    ({ inputSchema, annotations }) => annotations?.readOnlyHint === true && (inputSchema?.required ?? []).length === 0,
  );
  const name = harmless?.name ?? 'search_tools';
  await wire.request('tools/call', { name, arguments: harmless === undefined ? { query: 'hello' } : {} });
  return name;
}

function httpWire(entry: ClientEntry): ClientWire {
  const url = String(entry.url ?? entry.serverUrl ?? entry.httpUrl);
  const own = (entry.headers ?? entry.http_headers ?? {}) as Record<string, string>;
  let session: Record<string, string> = {};

  async function post(message: Message): Promise<Response> {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...own,
        ...session,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: AbortSignal.timeout(patienceMs),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    const id = response.headers.get('mcp-session-id');
    if (id !== null) session = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-06-18' };
    return response;
  }

  return {
    async request(method, params) {
      const response = await post({ id: 1, method, params });
      const text = await response.text();
      const streamed = response.headers.get('content-type')?.includes('text/event-stream') === true;
      return resultOf(streamed ? lastMessage(text) : (JSON.parse(text) as Message));
    },
    notify: async (method) => void (await post({ method })),
    async close() {
      if (session['mcp-session-id'] === undefined) return;
      await fetch(url, { method: 'DELETE', headers: { ...own, ...session } });
    },
  };
}

function lastMessage(stream: string): Message {
  let last: Message = {};
  const parser = createParser({
    onEvent({ data }) {
      last = JSON.parse(data) as Message;
    },
  });
  parser.feed(stream);
  return last;
}

function stdioWire(entry: ClientEntry, environment: NodeJS.ProcessEnv): ClientWire {
  const { command, args = [], env: own } = entry as { command: string; args?: string[]; env?: Record<string, string> };
  const env = { ...environment, ...own };
  const { file, ...how } =
    process.platform === 'win32' ? toWindowsCommand(command, args, { env }) : { file: command, args };
  const child = spawn(file, how.args, { ...how, env, stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  child.stdin.on('error', () => undefined); // shows as an exit
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new Error(
          error.code === 'ENOENT' ? `${command} was not found` : `${command} could not be started: ${error.message}`,
        ),
      ),
    );
  });
  failed.catch(() => undefined); // it is awaited by the requests
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve()).once('close', () => resolve());
  });
  const send = (message: Message) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  return {
    async request(method, params) {
      send({ id: method, method, params });
      const late = new Promise<never>((_resolve, reject) => {
        setTimeout(reject, patienceMs, new Error(`${command} did not respond`)).unref();
      });
      for (;;) {
        const { value, done } = await Promise.race([lines.next(), late, failed]);
        if (done)
          throw await Promise.race([
            failed.catch((error: unknown) => error),
            ended.then(() => new Error(`${command} exited`)),
          ]);
        const message = JSON.parse(value) as Message;
        if (message.id === method) return resultOf(message);
      }
    },
    async notify(method) {
      send({ method });
    },
    async close() {
      child.stdin.end();
      const reluctant = setTimeout(() => child.kill(), 2_000);
      await ended;
      clearTimeout(reluctant);
    },
  };
}

function resultOf({ result, error }: Message): Message {
  if (error !== undefined) throw new Error(String((error as Message).message));
  return result as Message;
}
