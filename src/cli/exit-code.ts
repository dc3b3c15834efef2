/** Exit codes of the command line; `--help` prints this table. */
export const exitCodes = {
  ok: { code: 0, meaning: 'done' },
  failed: { code: 1, meaning: 'the operation failed: a tool error, a server in ERROR, a problem found by doctor' },
  usage: { code: 2, meaning: 'invalid arguments or input' },
  unreachable: { code: 3, meaning: 'the aggregator is not running, or the server cannot be reached' },
  notFound: { code: 4, meaning: 'server, tool or token not found' },
  denied: { code: 5, meaning: 'the token is missing or invalid, or its role does not allow this' },
  conflict: { code: 6, meaning: 'the name is taken, a limit is reached, or the state does not allow it' },
} as const;

export type Exit = keyof typeof exitCodes;

/** Ends a command with a message and an exit code. */
export class CommandFailure extends Error {
  readonly exit: Exit;
  /** The answer of the API, for `--json`. */
  readonly answer: unknown;

  constructor(exit: Exit, message: string, options: { answer?: unknown; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CommandFailure';
    this.exit = exit;
    this.answer = options.answer;
  }
}

const byStatus: Record<number, Exit> = {
  400: 'usage',
  401: 'denied',
  403: 'denied',
  404: 'notFound',
  409: 'conflict',
  413: 'usage',
  422: 'usage',
  503: 'unreachable',
  504: 'unreachable',
};

export function exitOfStatus(status: number): Exit {
  return byStatus[status] ?? 'failed';
}
