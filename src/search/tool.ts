/** What search needs to know about a tool. The catalog's rows satisfy it. */
export interface SearchableTool {
  id: number;
  /** Canonical `server.tool`. */
  name: string;
  originalName: string;
  server: string;
  title?: string;
  description: string;
  inputSchema?: unknown;
  skillIds: string[];
  primarySkillId: string | null;
  isExternal: boolean;
}

interface ToolParameter {
  name: string;
  description: string;
}

const maxParameters = 40;
const maxText = 4_000;

/** Servers write their schemas as they like: whatever is not an object of properties counts as no parameters. */
export function toParameters(inputSchema: unknown): ToolParameter[] {
  const properties = isRecord(inputSchema) ? inputSchema.properties : undefined;
  if (!isRecord(properties)) return [];
  return Object.entries(properties)
    .slice(0, maxParameters)
    .map(([name, schema]) => ({
      name,
      description: isRecord(schema) && typeof schema.description === 'string' ? schema.description.slice(0, 300) : '',
    }));
}

/** The names of the parameters that every call must have. */
export function toRequired(inputSchema: unknown): string[] {
  const required = isRecord(inputSchema) ? inputSchema.required : undefined;
  if (!Array.isArray(required)) return [];
  return required.slice(0, maxParameters).filter((name) => typeof name === 'string');
}

/** Descriptions of 100 KB exist; what matters to a searcher stands at the beginning. */
export function toDescription(tool: SearchableTool): string {
  return tool.description.slice(0, maxText);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
