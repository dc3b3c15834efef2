/** What a failed request is answered with: one place translates every error to HTTP. */
import type { FastifyError } from 'fastify';
import { AppError, type Problem, RpcError, ValidationError } from '../errors.ts';

interface HttpErrorAnswer {
  status: number;
  body: { detail: string | Problem[]; error_code: string; context?: Record<string, unknown> };
  retryAfterSeconds?: number;
}

/** A fixed text, because the message of an unexpected error may contain secrets. */
const internalError: HttpErrorAnswer = {
  status: 500,
  body: {
    detail: 'Internal error in the aggregator; see its log for details',
    error_code: 'INTERNAL_ERROR',
  },
};

/** Codes of Fastify that are about the path; its other refusals are about the body. */
const pathErrors = ['FST_ERR_BAD_URL', 'FST_ERR_MAX_PARAM_LENGTH'];

export function toErrorAnswer(error: unknown): HttpErrorAnswer {
  if (error instanceof ValidationError) {
    return { status: error.status, body: { detail: error.problems, error_code: error.code } };
  }
  if (error instanceof AppError) {
    const { message, code, context, body, status, retryAfterSeconds } = error;
    return {
      status,
      retryAfterSeconds,
      body: { detail: message, error_code: code, ...(context && { context }), ...body },
    };
  }
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    const context = { code, message, ...(data === undefined ? {} : { data }) };
    return {
      status: 502,
      body: { detail: `The server returned an error: ${message}`, error_code: 'EXECUTION_FAILED', context },
    };
  }
  const { statusCode, code, message } = error as FastifyError;
  if (statusCode === undefined || statusCode >= 500) return internalError;
  const place = pathErrors.includes(code) ? 'path' : 'body';
  const problem = { loc: [place], msg: message, type: 'value_error' };
  return { status: 422, body: { detail: [problem], error_code: 'VALIDATION_ERROR' } };
}

/** Whether the answer tells the client how to authenticate. */
export const needsChallenge = (error: unknown, status: number) =>
  status === 401 || (error instanceof AppError && error.code === 'INSUFFICIENT_SCOPE');

/** Masks secrets, because a server's error may quote its credentials; our own names and codes are kept. */
export function toMaskedText({ status, body }: HttpErrorAnswer, mask: (value: unknown) => unknown) {
  const { error_code, ...rest } = body;
  try {
    const masked = Object.entries(rest).map(([name, value]) => [name, mask(value)]);
    return { status, text: JSON.stringify({ ...Object.fromEntries(masked), error_code }) };
  } catch {
    // An error thrown here would be answered with its raw message.
    return { status: internalError.status, text: JSON.stringify(internalError.body) };
  }
}
