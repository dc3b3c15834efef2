/** The log: JSON or text, one line per event. Secrets are masked by path and by value. */
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

export type { Logger };

interface LogOptions {
  /** `auto`: text if stderr is a terminal, otherwise JSON. */
  format?: 'auto' | 'json' | 'text';
  destination?: DestinationStream;
  /** The last step for each line: masks the values of known secrets. */
  mask?: (line: string) => string;
}

/** Values of these paths are never logged. */
const secretPaths = [
  ...['authorization', 'Authorization', 'cookie', 'headers', 'env', 'connection_config', 'credentials'],
  ...['token', 'adminToken', 'password', 'secret', 'apiKey', 'api_key', 'credentialKey', 'credentialKeyPrevious'],
  ...['databaseUrl', 'redisUrl', 'qdrantUrl', 'anthropicApiKey', 'embeddingsApiKey', 'otlpHeaders'],
];

const lastResort = '{"level":"error","msg":"a log line was dropped because it could not be masked"}\n';

export function createLog(level: string, options: LogOptions = {}): Logger {
  const { format = 'auto', mask, destination = pino.destination({ dest: 2, sync: true }) } = options;
  const asText = format === 'text' || (format === 'auto' && options.destination === undefined && process.stderr.isTTY);
  const colours = asText && process.stderr.isTTY === true;
  const write = (line: string) => {
    destination.write(shownLine(line));
  };
  const shownLine = (line: string): string => {
    try {
      const shown = asText ? toText(line, colours) : line;
      return mask === undefined ? shown : mask(shown);
    } catch {
      return lastResort; // neither the line nor the reason, because both may contain secrets
    }
  };
  return pino(
    {
      level,
      base: undefined,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: secretPaths.flatMap((path) => [path, `*.${path}`, `*.*.${path}`, `*.*.*.${path}`]),
        censor: '***',
      },
    },
    mask === undefined && !asText ? destination : { write },
  );
}

const colourOf: Record<string, string> = { debug: '\x1b[2m', info: '\x1b[32m', warn: '\x1b[33m', error: '\x1b[31m' };
const plain = '\x1b[0m';

/** `12:01:02.345 WARN  health check  server=github reason="no answer"`, errors with their stack below. */
export function toText(line: string, colours = false): string {
  const { time, level, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const label = String(level).toUpperCase().padEnd(5);
  const shown = colours ? `${colourOf[String(level)] ?? ''}${label}${plain}` : label;
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${fieldText(value)}`);
  const stack =
    isRecord(err) && typeof err.stack === 'string' ? `\n  ${printable(err.stack.replaceAll('\n', '\n  '))}` : '';
  return `${String(time).slice(11, 23)} ${shown} ${[printable(String(msg ?? '')), ...rest].join('  ')}${stack}\n`;
}

function fieldText(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@+-]+$/.test(value)) return value;
  return JSON.stringify(value);
}

/** Output of a server must not move the cursor or forge lines on the terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '�');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
