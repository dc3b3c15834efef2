/** The log for people: one line per record instead of JSON. */
import { styleText } from 'node:util';
import type { DestinationStream } from 'pino';

const styles: Record<string, Parameters<typeof styleText>[0]> = { warn: 'yellow', error: 'red', debug: 'dim' };

export function createHumanLog(output: NodeJS.WriteStream, environment: NodeJS.ProcessEnv): DestinationStream {
  const coloured = !environment.NO_COLOR && environment.TERM !== 'dumb';
  return {
    write(line) {
      const text = formatRecord(JSON.parse(line) as Record<string, unknown>, (level, word) => {
        const style = styles[level];
        return coloured && style !== undefined ? styleText(style, word, { validateStream: false }) : word;
      });
      output.write(`${text}\n`);
    },
  };
}

export function formatRecord(record: Record<string, unknown>, paint: (level: string, word: string) => string): string {
  const { time, level, msg, err, ...details } = record;
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const fields = Object.entries(details).map(([name, value]) => `${name}=${plain(value)}`);
  const problem = err === undefined ? [] : [plain((err as { stack?: unknown }).stack ?? err)];
  return [clock, paint(String(level), String(level).padEnd(5)), String(msg ?? ''), ...fields, ...problem].join(' ');
}

function plain(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return /\s/.test(value) && !value.includes('\n') ? JSON.stringify(value) : value;
}
