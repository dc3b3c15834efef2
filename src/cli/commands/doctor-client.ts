import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { createParser } from 'eventsource-parser';
import { describe } from '../../errors.ts';
import type { ClientEntry } from '../client-configs/clients.ts';
import { type AddCommand, createContext, withGlobalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';

type Message = Record<string, unknown>;

/** Sends requests in the same way as the client. */
interface ClientWire {
  request(method: string, params: Message): Promise<Message>;
  notify(method: string): Promise<void>;
  close(): Promise<void>;
}

const patienceMs = 20_000;

/** `doctor client`: checks that the entry in the config file of a client works. */
export const addDoctorClient: AddCommand = (doctor, environment) => {
  withGlobalFlags(doctor.command('client'))
    .description('check that a connected client can reach the aggregator, by sending the same requests')
    .argument('<client>', 'claude-desktop, claude-code, cursor, vscode, codex, windsurf or zed')
    .option('--name <name>', 'name of the aggregator in the client', 'gateway')
    .action(async (id: string, { name }: { name: string }, self: Command) => {
      const { terminal } = createContext(self, environment);
      const { clients } = await import('../client-configs/clients.ts');
      const client = clients.find((known) => known.id === id);
      if (client === undefined) {
        throw new CommandFailure(
          'usage',
          `unknown client; known clients: ${clients.map((each) => each.id).join(', ')}`,
        );
      }
      const file = client.file({ home: environment.HOME ?? homedir(), platform: process.platform, environment });
      const entry = existsSync(file) ? client.read(readFileSync(file, 'utf8'))[name] : undefined;
      if (entry === undefined) {
        const advice = `Connect it: mcp-aggregator connect-client ${id}`;
        throw new CommandFailure('failed', `${client.title} has no entry "${name}" in ${file}\n${advice}`);
      }
      const { server, tools } = await terminal.progress(`connecting as ${client.title}`, () =>
        converse(entry, file, environment),
      );
      if (terminal.json) return terminal.printJson({ ok: true, client: id, file, server, tools });
      terminal.print(`ok  ${client.title} reaches ${server} and sees ${tools.length} tools (${file})`);
    });
};

async function converse(
  entry: ClientEntry,
  file: string,
  environment: NodeJS.ProcessEnv,
): Promise<{ server: string; tools: string[] }> {
  const wire = typeof entry.command === 'string' ? stdioWire(entry, environment) : httpWire(entry);
  try {
    const { serverInfo } = await wire.request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'mcp-aggregator doctor', version: '1' },
    });
    await wire.notify('notifications/initialized');
    const { tools } = await wire.request('tools/list', {});
    const names = (tools as { name: string }[]).map((tool) => tool.name);
    return { server: String((serverInfo as Message).name), tools: names };
  } catch (error) {
    throw new CommandFailure('failed', `The entry in ${file} does not work: ${describe(error)}`, { cause: error });
  } finally {
    await wire.close();
  }
}

function httpWire(entry: ClientEntry): ClientWire {
  const url = String(entry.url ?? entry.serverUrl);
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
  const { command, args, env } = entry as { command: string; args?: string[]; env?: Record<string, string> };
  const child = spawn(command, args ?? [], { env: { ...environment, ...env }, stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'exit');
  const send = (message: Message) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  return {
    async request(method, params) {
      send({ id: method, method, params });
      const late = new Promise<never>((_resolve, reject) => {
        setTimeout(reject, patienceMs, new Error(`${command} did not respond`)).unref();
      });
      for (;;) {
        const { value, done } = await Promise.race([lines.next(), late]);
        if (done) throw new Error(`${command} exited`);
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
