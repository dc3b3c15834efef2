import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { AppError, type ErrorCode } from '../src/errors.ts';

/** What REST clients (status) and MCP clients (JSON-RPC code) rely on. */
const published: [ErrorCode, number, number][] = [
  ['SERVER_NOT_FOUND', 404, -32602],
  ['SERVER_ALREADY_EXISTS', 409, -32602],
  ['SERVER_LIMIT_REACHED', 409, -32602],
  ['SERVER_STATE_CONFLICT', 409, -32602],
  ['SERVER_UNAVAILABLE', 503, -32603],
  ['SERVER_CONNECTION_FAILED', 503, -32603],
  ['SERVER_OVERLOADED', 503, -32603],
  ['LOGIN_REQUIRED', 503, -32603],
  ['TOOL_NOT_FOUND', 404, -32602],
  ['TOOL_AMBIGUOUS', 400, -32602],
  ['TOOL_LIMIT_REACHED', 409, -32602],
  ['SESSION_NOT_FOUND', 503, -32603],
  ['ROUTING_FAILED', 500, -32603],
  ['EXECUTION_FAILED', 502, -32603],
  ['EXECUTION_TIMEOUT', 504, -32603],
  ['HEALTH_CHECK_FAILED', 503, -32603],
  ['CLASSIFICATION_FAILED', 500, -32603],
  ['VALIDATION_ERROR', 422, -32602],
  ['UNAUTHENTICATED', 401, -32600],
  ['FORBIDDEN', 403, -32600],
  ['HOST_NOT_ALLOWED', 403, -32600],
  ['ORIGIN_NOT_ALLOWED', 403, -32600],
  ['NOT_FOUND', 404, -32601],
  ['BODY_TOO_LARGE', 413, -32600],
  ['RATE_LIMITED', 429, -32603],
  ['INTERNAL_ERROR', 500, -32603],
];

suite('errors', () => {
  for (const [code, status, rpc] of published) {
    test(`API-004: ${code} is HTTP ${status} and JSON-RPC ${rpc}`, () => {
      const error = new AppError(code, 'something happened');
      assert.deepEqual([error.code, error.status, error.rpcCode], [code, status, rpc]);
    });
  }
});
