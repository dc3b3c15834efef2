/** What the command line says with its exit code; `--help` prints this table. */
export const exitCodes = {
  ok: { code: 0, meaning: 'done' },
  failed: { code: 1, meaning: 'it was tried and failed: a tool error, a server in ERROR, a problem found by doctor' },
  usage: { code: 2, meaning: 'wrong arguments, or input that is not valid' },
  unreachable: { code: 3, meaning: 'the aggregator does not run, or the server cannot be reached' },
  notFound: { code: 4, meaning: 'there is no such server, tool or token' },
  denied: { code: 5, meaning: 'the token is missing, wrong, or its role does not allow this' },
  conflict: { code: 6, meaning: 'the name is taken, a limit is reached, or the state does not allow it' },
} as const;

export type Exit = keyof typeof exitCodes;

/** Ends a command with a message for people and a code for programs. */
export class CommandFailure extends Error {
  readonly exit: Exit;
  /** What the API answered, for `--json`. */
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
