interface ModernParams {
  name?: unknown;
  uri?: unknown;
  taskId?: unknown;
  _meta?: object;
  [key: string]: unknown;
}

export interface ModernOptions {
  capabilities?: Record<string, unknown>;
  clientInfo?: { name: string; version: string };
  meta?: Record<string, unknown>;
  /** The id of the request; otherwise the next number. */
  id?: number | string;
}

let nextId = 1;

/** A request of 2026-07-28: the message with its metadata, and the headers that belong to it. */
export function modernRequest(method: string, params: ModernParams = {}, options: ModernOptions = {}) {
  const { capabilities, clientInfo, meta, id = nextId++ } = options;
  const name = params.name ?? params.uri ?? params.taskId;
  const _meta = { ...modernMeta(capabilities, clientInfo), ...params._meta, ...meta };
  return {
    message: { jsonrpc: '2.0', id, method, params: { ...params, _meta } },
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': encodeName(name) } : {}),
    },
  };
}

/** The metadata that every request of 2026-07-28 carries. */
export const modernMeta = (
  capabilities: Record<string, unknown> = {},
  clientInfo: { name: string; version: string } = { name: 'raw', version: '1' },
) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': capabilities,
  'io.modelcontextprotocol/clientInfo': clientInfo,
});

const encodeName = (name: string) =>
  /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`;
