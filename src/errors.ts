/**
 * The table of all error codes, with the HTTP status for REST and the JSON-RPC code for MCP. Code throws an `AppError`;
 * each surface translates it once.
 */
const table = {
  SERVER_NOT_FOUND: { status: 404, rpc: -32602 },
  SERVER_ALREADY_EXISTS: { status: 409, rpc: -32602 },
  SERVER_LIMIT_REACHED: { status: 409, rpc: -32602 },
  SERVER_UNAVAILABLE: { status: 503, rpc: -32603 },
  SERVER_CONNECTION_FAILED: { status: 503, rpc: -32603 },
  LOGIN_REQUIRED: { status: 503, rpc: -32603 },
  KEY_REQUIRED: { status: 503, rpc: -32603 },
  SERVER_OVERLOADED: { status: 503, rpc: -32603 },
  SERVER_DATA_TOO_LARGE: { status: 502, rpc: -32603 },
  SERVER_STATE_CONFLICT: { status: 409, rpc: -32602 },
  TOOL_NOT_FOUND: { status: 404, rpc: -32602 },
  TOOL_AMBIGUOUS: { status: 400, rpc: -32602 },
  TOOL_DISABLED: { status: 409, rpc: -32602 },
  TOOL_CHANGE_PENDING: { status: 409, rpc: -32603 },
  TOOL_LIMIT_REACHED: { status: 409, rpc: -32602 },
  PROMPT_NOT_FOUND: { status: 404, rpc: -32602 },
  RESOURCE_NOT_FOUND: { status: 404, rpc: -32602 },
  SERVER_DEGRADED: { status: 409, rpc: -32603 },
  SESSION_NOT_FOUND: { status: 503, rpc: -32603 },
  ROUTING_FAILED: { status: 500, rpc: -32603 },
  EXECUTION_FAILED: { status: 502, rpc: -32603 },
  EXECUTION_TIMEOUT: { status: 504, rpc: -32603 },
  CALL_CANCELLED: { status: 499, rpc: -32603 },
  HEALTH_CHECK_FAILED: { status: 503, rpc: -32603 },
  CLASSIFICATION_FAILED: { status: 500, rpc: -32603 },
  MODEL_UNAVAILABLE: { status: 502, rpc: -32603 },
  VALIDATION_ERROR: { status: 422, rpc: -32602 },
  CONFIGURATION_INVALID: { status: 500, rpc: -32603 },
  DATA_DIRECTORY_IN_USE: { status: 500, rpc: -32603 },
  CREDENTIAL_UNREADABLE: { status: 500, rpc: -32603 },
  UNAUTHENTICATED: { status: 401, rpc: -32600 },
  INSUFFICIENT_SCOPE: { status: 403, rpc: -32600 },
  SIGN_IN_REQUIRED: { status: 403, rpc: -32600 },
  IDENTITY_PROVIDER_UNAVAILABLE: { status: 503, rpc: -32603 },
  FORBIDDEN: { status: 403, rpc: -32600 },
  HOST_NOT_ALLOWED: { status: 403, rpc: -32600 },
  ORIGIN_NOT_ALLOWED: { status: 403, rpc: -32600 },
  NOT_FOUND: { status: 404, rpc: -32601 },
  METHOD_NOT_ALLOWED: { status: 405, rpc: -32601 },
  SIGNED_IN_AS_ANOTHER: { status: 409, rpc: -32602 },
  ALREADY_EXISTS: { status: 409, rpc: -32602 },
  TOKEN_LIMIT_REACHED: { status: 409, rpc: -32602 },
  BODY_TOO_LARGE: { status: 413, rpc: -32600 },
  RATE_LIMITED: { status: 429, rpc: -32603 },
  OVERLOADED: { status: 503, rpc: -32603 },
  STORAGE_UNAVAILABLE: { status: 503, rpc: -32603 },
  SHUTTING_DOWN: { status: 503, rpc: -32603 },
  INTERNAL_ERROR: { status: 500, rpc: -32603 },
} as const satisfies Record<string, { status: number; rpc: number }>;

export type ErrorCode = keyof typeof table;

interface ErrorExtras {
  cause?: unknown;
  /** Additional data for the client; must not contain secrets. */
  context?: Record<string, unknown>;
  /** Additional top-level members of the REST answer (API-018: `server`). */
  body?: Record<string, unknown>;
  retryAfterSeconds?: number;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly context?: Record<string, unknown>;
  readonly body?: Record<string, unknown>;
  readonly retryAfterSeconds?: number;

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = 'AppError';
    this.code = code;
    this.context = extras.context;
    this.body = extras.body;
    this.retryAfterSeconds = extras.retryAfterSeconds;
  }

  get status(): number {
    return table[this.code].status;
  }

  get rpcCode(): number {
    return table[this.code].rpc;
  }
}

/** One invalid input: its location (`['body', 'connection_config', 'url']`) and what was expected. */
export interface Problem {
  loc: (string | number)[];
  msg: string;
  type: string;
}

export class ValidationError extends AppError {
  readonly problems: Problem[];

  constructor(problems: Problem[]) {
    super('VALIDATION_ERROR', problems.map((problem) => `${problem.loc.join('.')}: ${problem.msg}`).join('; '));
    this.problems = problems;
  }
}

/** A JSON-RPC error of the other side; it is relayed unchanged. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

/** The text of anything thrown, with its causes: «connect failed: connect ECONNREFUSED 127.0.0.1:1». */
export function describe(thrown: unknown): string {
  const parts: string[] = [];
  for (let current: unknown = thrown; current !== undefined && parts.length < 5; ) {
    const text = current instanceof Error ? current.message || current.name : String(current);
    if (!parts.some((part) => part.includes(text))) parts.push(text);
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(': ');
}
