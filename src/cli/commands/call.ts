import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { parseJson } from '../../exact-json.ts';
import { didYouMean } from '../../suggestions.ts';
import type { ServerList, ToolList, ToolView } from '../answers.ts';
import { toAssignments } from '../assignments.ts';
import { api, type Client, serverPath } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';

type JsonRecord = Record<string, unknown>;

interface CallAnswer {
  content: JsonRecord[];
  structuredContent?: unknown;
  isError: boolean;
  metadata: { warning?: string };
}

export const addCall: AddCommand = (program, environment) => {
  program
    .command('call')
    .description('call a tool and print its result')
    .usage('<tool> [json | key=value… | -] [options]')
    .argument('<tool>', 'server.tool, or only the tool name if it is unambiguous')
    .argument('[arguments...]', 'a JSON object, key=value pairs, or - to read JSON from stdin')
    .option('--server <server>', 'the server that has the tool')
    .addHelpText('after', examples)
    .action(async (name: string, words: string[], options: { server?: string }, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const values = await readArguments(words, () => findTool(client, name, options.server));
      const answer = await terminal.progress(`calling ${name}`, () =>
        client.post<CallAnswer>('/api/v1/tools/call', { name, arguments: values, server_id: options.server }),
      );
      if (terminal.json) terminal.printJson(answer);
      else terminal.print(toText(answer));
      if (answer.metadata.warning !== undefined) terminal.note(`warning: ${answer.metadata.warning}`);
      if (!answer.isError) return;
      const tool = Object.keys(values).length > 0 ? await findTool(client, name, options.server) : undefined;
      throw new CommandFailure('failed', ['The tool returned an error.', ...wrongNames(values, tool)].join('\n'));
    });
};

/** Arguments that the tool does not have. Only said when it failed, because its schema may allow any. */
function wrongNames(values: JsonRecord, tool: ToolView | undefined): string[] {
  const known = Object.keys((tool?.input_schema.properties ?? {}) as object);
  if (tool === undefined || known.length === 0) return [];
  const unknown = Object.keys(values).filter((name) => !known.includes(name));
  return unknown.map((name) => {
    const near = didYouMean(name, known) || `. Its parameters: ${known.join(', ')}`;
    return `${tool.name} has no parameter "${name}"${near}`;
  });
}

async function readArguments(words: string[], tool: () => Promise<ToolView | undefined>): Promise<JsonRecord> {
  const [first] = words;
  if (first === undefined) return {};
  if (first === '-') return toObject(await text(process.stdin), 'stdin');
  if (first.startsWith('{')) {
    if (words.length > 1) throw new CommandFailure('usage', 'specify one JSON object, quoted as one argument');
    return toObject(first, 'the argument');
  }
  const pairs = toAssignments(words, 'arguments');
  // "7" may be a string or a number, depending on the schema of the tool.
  const doubtful = Object.values(pairs).some((value) => typeof guess(value) !== 'string');
  const schema = doubtful ? (await tool())?.input_schema : undefined;
  return toTyped(pairs, schema);
}

function toObject(json: string, where: string): JsonRecord {
  let value: unknown;
  try {
    value = parseJson(json);
  } catch (cause) {
    throw new CommandFailure('usage', `${where} is not valid JSON: ${(cause as SyntaxError).message}`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonRecord;
  throw new CommandFailure('usage', `${where} must be a JSON object, for example {"message": "hello"}`);
}

/** Converts values to the types of the schema; without a type, values that look like JSON are parsed. */
export function toTyped(pairs: Record<string, string>, schema: JsonRecord | undefined): JsonRecord {
  const properties = (schema?.properties ?? {}) as Record<string, JsonRecord | undefined>;
  return Object.fromEntries(
    Object.entries(pairs).map(([key, value]) => [key, properties[key]?.type === 'string' ? value : guess(value)]),
  );
}

function guess(value: string): unknown {
  if (!/^(-?\d|[[{]|true$|false$|null$|")/.test(value)) return value;
  try {
    return parseJson(value);
  } catch {
    return value; // looked like JSON, but is a string
  }
}

async function findTool(client: Client, name: string, server: string | undefined): Promise<ToolView | undefined> {
  const from = server ?? (name.includes('.') ? name.slice(0, name.indexOf('.')) : undefined);
  const matches = (tool: ToolView) => tool.name === name || tool.original_name === name || tool.wire_name === name;
  if (from !== undefined) {
    return (await client.get<ToolList>(`${serverPath(from)}/tools`)).tools.find(matches);
  }
  const { servers } = await client.get<ServerList>(`${api}/servers?include_tools=true&limit=1000`);
  return servers.flatMap(({ tools = [] }) => tools).find(matches);
}

function toText({ content, structuredContent }: CallAnswer): string {
  if (content.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent, null, 2);
  return content.map(partToText).join('\n');
}

function partToText(part: JsonRecord): string {
  const resource = (part.resource ?? {}) as JsonRecord;
  switch (part.type) {
    case 'text':
      return String(part.text);
    case 'image':
    case 'audio':
      return `[${part.type} ${part.mimeType}, ${Math.ceil((String(part.data).length * 3) / 4_096)} KB; --json prints it]`;
    case 'resource':
      return typeof resource.text === 'string' ? resource.text : `[resource ${resource.uri}; --json prints it]`;
    case 'resource_link':
      return `[resource ${part.uri}]`;
    default:
      return JSON.stringify(part);
  }
}

const examples = `
Examples:
  mcp-aggregator call everything.echo message=hello
  mcp-aggregator call everything.get-sum '{"a": 1, "b": 2}'
  echo '{"message": "hello"}' | mcp-aggregator call everything.echo -`;
