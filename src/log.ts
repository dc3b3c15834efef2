import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

export type { Logger };

/** Wherever one of these stands in a log record, its value never does. */
const secretPaths = ['authorization', 'token', 'headers', 'env', 'password', 'secret', 'apiKey', 'connection_config'];

export function createLog(level: string, destination: DestinationStream = pino.destination(2)): Logger {
  return pino(
    {
      level,
      base: undefined,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: secretPaths.flatMap((path) => [path, `*.${path}`, `*.*.${path}`]),
        censor: '***',
      },
    },
    destination,
  );
}
