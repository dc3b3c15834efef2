/** API-018 and SEC-003 as decisions: what each kind of error is answered with. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { AppError, RpcError, ValidationError } from '../../src/errors.ts';
import { needsChallenge, toErrorAnswer, toMaskedText } from '../../src/http/error-answer.ts';
import { readJsonBody } from '../../src/http/json-body.ts';

const problem = { loc: ['body', 'name'], msg: 'is missing', type: 'value_error' };
const fastifyError = (code: string, statusCode: number) => Object.assign(new Error('refused'), { code, statusCode });

suite('what an error is answered with', () => {
  const rows: [title: string, error: unknown, expected: object][] = [
    [
      'a failed validation lists its problems',
      new ValidationError([problem]),
      { status: 422, body: { detail: [problem], error_code: 'VALIDATION_ERROR' } },
    ],
    [
      'an error of the table has its status, context and delay',
      new AppError('RATE_LIMITED', 'Too many calls', { context: { limit: 5 }, retryAfterSeconds: 7 }),
      {
        status: 429,
        retryAfterSeconds: 7,
        body: { detail: 'Too many calls', error_code: 'RATE_LIMITED', context: { limit: 5 } },
      },
    ],
    [
      'further members of an error stand beside its code',
      new AppError('SERVER_UNAVAILABLE', 'Server unavailable: a', { body: { server: { name: 'a' } } }),
      {
        status: 503,
        retryAfterSeconds: undefined,
        body: { detail: 'Server unavailable: a', error_code: 'SERVER_UNAVAILABLE', server: { name: 'a' } },
      },
    ],
    [
      'an error of a server is relayed as the reason',
      new RpcError(-32_602, 'bad argument', { at: 'x' }),
      {
        status: 502,
        body: {
          detail: 'The server returned an error: bad argument',
          error_code: 'EXECUTION_FAILED',
          context: { code: -32_602, message: 'bad argument', data: { at: 'x' } },
        },
      },
    ],
    [
      'a path that Fastify refuses',
      fastifyError('FST_ERR_BAD_URL', 400),
      {
        status: 422,
        body: {
          detail: [{ loc: ['path'], msg: 'refused', type: 'value_error' }],
          error_code: 'VALIDATION_ERROR',
        },
      },
    ],
    [
      'a body that Fastify refuses',
      fastifyError('FST_ERR_CTP_INVALID_CONTENT_LENGTH', 400),
      {
        status: 422,
        body: {
          detail: [{ loc: ['body'], msg: 'refused', type: 'value_error' }],
          error_code: 'VALIDATION_ERROR',
        },
      },
    ],
  ];
  for (const [title, error, expected] of rows) test(title, () => assert.deepEqual(toErrorAnswer(error), expected));

  test('an unexpected error does not show its message', () => {
    for (const error of [new Error('password=hunter2'), fastifyError('FST_ERR_X', 500), { message: 'hunter2' }]) {
      const answer = toErrorAnswer(error);
      assert.deepEqual([answer.status, answer.body.error_code], [500, 'INTERNAL_ERROR']);
      assert.doesNotMatch(JSON.stringify(answer), /hunter2/);
    }
  });
});

test('a client is told how to authenticate where a token is missing or may too little', () => {
  const rows = [
    [new AppError('UNAUTHENTICATED', 'Token missing'), true],
    [new AppError('INSUFFICIENT_SCOPE', 'Scope missing'), true],
    [new AppError('FORBIDDEN', 'Not for viewers'), false],
    [new Error('unexpected'), false],
  ] as const;
  for (const [error, expected] of rows) assert.equal(needsChallenge(error, toErrorAnswer(error).status), expected);
});

test('everything but the code is masked; what cannot be masked is not sent', () => {
  const answer = toErrorAnswer(new AppError('NOT_FOUND', 'no hunter2', { context: { name: 'hunter2' } }));
  const mask = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('hunter2', '***'));
  assert.deepEqual(toMaskedText(answer, mask), {
    status: 404,
    text: '{"detail":"no ***","context":{"name":"***"},"error_code":"NOT_FOUND"}',
  });
  const failed = toMaskedText(answer, () => {
    throw new Error('hunter2');
  });
  assert.equal(failed.status, 500);
  assert.doesNotMatch(failed.text, /hunter2/);
});

test('a JSON body is read by its text and type', () => {
  assert.equal(readJsonBody(undefined, undefined), undefined);
  assert.equal(readJsonBody('', 'text/plain'), undefined);
  for (const type of [undefined, 'application/json', 'application/json; charset=utf-8', 'application/problem+json'])
    assert.deepEqual(readJsonBody('{"a":1}', type), { a: 1 });
  const refusals: [text: string, type: string | undefined, loc: string[], kind: string][] = [
    ['{}', 'text/plain', ['header', 'content-type'], 'value_error'],
    ['{', undefined, ['body'], 'json_invalid'],
    ['['.repeat(5_000), undefined, ['body'], 'value_error'],
  ];
  for (const [text, type, loc, kind] of refusals) {
    assert.throws(
      () => readJsonBody(text, type),
      (error: ValidationError) => {
        assert.deepEqual([error.problems[0]?.loc, error.problems[0]?.type], [loc, kind]);
        return true;
      },
    );
  }
});
