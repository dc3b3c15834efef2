/** What a classifier reads of a tool, from its row and its server. Pure. */
import { isObject, type JsonObject } from '../json-rpc.ts';
import type { ServerRow, ToolRow } from '../store/schema.ts';

export interface ToolToClassify {
  id: number;
  /** As its server calls it. */
  name: string;
  title: string;
  description: string;
  /** Names, types, values and descriptions of the parameters, as `path: string, limit?: integer (at most 100)`. */
  parameters: string;
  server: {
    /** As it is registered. */
    name: string;
    /** What an admin or the server says about it. */
    description: string;
  };
}

type ClassifiedColumns = Readonly<Pick<ToolRow, 'id' | 'original_name' | 'title' | 'description' | 'input_schema'>>;
export type DescribedServer = Readonly<Pick<ServerRow, 'name' | 'description' | 'server_info' | 'instructions'>>;

const maxServerChars = 500;
const maxParameters = 40;
const maxParameterChars = 80;
const maxValues = 8;

export function toToolToClassify(row: ClassifiedColumns, server: DescribedServer | undefined): ToolToClassify {
  return {
    id: row.id,
    name: row.original_name,
    title: row.title ?? '',
    description: row.description ?? '',
    parameters: summarizeParameters(row.input_schema),
    server: describeServer(server),
  };
}

export function describeServer(server: DescribedServer | undefined): ToolToClassify['server'] {
  if (server === undefined) return { name: '', description: '' };
  const { name, description: given, server_info, instructions } = server;
  const { title, description: own } = server_info ?? {};
  const about = [given, own, instructions].find((text) => typeof text === 'string' && text !== '');
  const texts = [title, about].filter((text) => typeof text === 'string' && text !== '');
  return { name, description: texts.join(': ').slice(0, maxServerChars) };
}

function summarizeParameters({ properties, required }: JsonObject): string {
  if (!isObject(properties)) return '';
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return Object.entries(properties)
    .slice(0, maxParameters)
    .map(
      ([name, schema]) => `${name}${isRequired(name) ? '' : '?'}: ${summarizeSchema(isObject(schema) ? schema : {})}`,
    )
    .join(', ');
}

function summarizeSchema({ type, enum: values, description }: JsonObject): string {
  const choices = Array.isArray(values)
    ? values
        .slice(0, maxValues)
        .map((value) => JSON.stringify(value))
        .join(' | ')
    : '';
  const kind = choices === '' ? (typeof type === 'string' ? type : 'any') : choices.slice(0, maxParameterChars);
  return typeof description === 'string' && description !== ''
    ? `${kind} (${description.slice(0, maxParameterChars)})`
    : kind;
}
