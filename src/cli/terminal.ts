/** Output for terminals: tables, colours, progress, prompts; or JSON for programs. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { stripVTControlCharacters, styleText } from 'node:util';
import { inOwnWords } from './own-words.ts';

type Style = Parameters<typeof styleText>[0];

export interface Terminal {
  readonly json: boolean;
  /** The result of the command, on stdout. */
  print(text: string): void;
  printJson(value: unknown): void;
  /** Our own text, which may name commands, on stdout. */
  say(text: string): void;
  /** Messages other than the result, on stderr; none with `--json`. */
  note(text: string): void;
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void;
  style(style: Style, text: string): string;
  status(status: string): string;
  /** Runs the task; on a terminal, shows a progress line after a second. */
  progress<T>(text: string, task: (update: (text: string) => void) => Promise<T>): Promise<T>;
  readonly canAsk: boolean;
  confirm(question: string): Promise<boolean>;
  /** What the user types; a secret is not shown. */
  ask(question: string, options?: { isSecret?: boolean }): Promise<string>;
}

const shownAfterMs = 1_000;
const frameMs = 120;
const frames = ['-', '\\', '|', '/'];

const statusStyles: Record<string, Style> = {
  CONNECTED: 'green',
  CONNECTING: 'cyan',
  DISCONNECTING: 'cyan',
  DEGRADED: 'yellow',
  ERROR: 'red',
  DISCONNECTED: 'dim',
};

export function createTerminal({ json, environment }: { json: boolean; environment: NodeJS.ProcessEnv }): Terminal {
  const { stdin, stdout, stderr } = process;
  const coloured = stdout.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb';
  const style = (wanted: Style, text: string) => (coloured ? styleText(wanted, text, { validateStream: false }) : text);
  const print = (text: string) => void stdout.write(`${stdout.isTTY ? withoutControls(text) : text}\n`);

  return {
    json,
    print,
    printJson: (value) => print(JSON.stringify(value, null, 2)),
    say: (text) => print(inOwnWords(text, environment)),
    note(text) {
      if (!json) stderr.write(`${inOwnWords(withoutControls(text), environment)}\n`);
    },
    table(headings, rows) {
      // A terminal without a known size reports 0.
      const width = stdout.isTTY && stdout.columns > 0 ? stdout.columns : undefined;
      const [head = '', ...lines] = formatTable([headings, ...rows], width);
      print([style('bold', head), ...lines].join('\n'));
    },
    style,
    status: (status) => style(statusStyles[status] ?? 'dim', status),
    async progress(text, task) {
      if (!stderr.isTTY || json) return await task(() => undefined);
      let shown = text;
      let frame = 0;
      const since = Date.now();
      const timer = setInterval(() => {
        if (Date.now() - since < shownAfterMs) return;
        const seconds = Math.floor((Date.now() - since) / 1_000);
        const line = `${frames[frame++ % frames.length]} ${shown} (${seconds} s)`;
        stderr.write(`\r\u001b[K${line.slice(0, Math.max(20, (stderr.columns || 80) - 1))}`);
      }, frameMs);
      try {
        return await task((next) => {
          shown = next;
        });
      } finally {
        clearInterval(timer);
        stderr.write('\r\u001b[K');
      }
    },
    canAsk: !json && stdin.isTTY === true && stderr.isTTY === true,
    async confirm(question) {
      const asking = createInterface({ input: stdin, output: stderr });
      const answer = await asking.question(`${question} [y/N] `);
      asking.close();
      return /^y(es)?$/i.test(answer.trim());
    },
    async ask(question, { isSecret = false } = {}) {
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
      // First of all, because it turns off the echo: an answer may be pasted as soon as the question is there.
      const asking = createInterface({ input: stdin, output: isSecret ? silent : stderr, terminal: true });
      if (isSecret) stderr.write(`${question}: `);
      const answer = await asking.question(isSecret ? '' : `${question}: `);
      asking.close();
      if (isSecret) stderr.write('\n');
      return answer.trim();
    },
  };
}

/** Names, descriptions and answers are untrusted: on a terminal, only colour sequences are allowed. */
export function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about
  return text.replace(/\u001b(?!\[[\d;]*m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g, '');
}

const gap = 2;

/** Columns have the width of their widest cell; with a total width, the last column is cut. */
export function formatTable(rows: readonly (readonly string[])[], width?: number): string[] {
  const columns = Math.max(...rows.map((row) => row.length));
  const length = (text: string) => stripVTControlCharacters(text).length;
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...rows.map((row) => length(row[at] ?? ''))));
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + gap, 0);
  const room = width === undefined ? undefined : Math.max(20, width - before);
  return rows.map((row) =>
    row
      .map((cell, at) => {
        const line = oneLine(cell);
        if (at < columns - 1) return line + ' '.repeat((widths[at] ?? 0) - length(line));
        return room !== undefined && length(line) > room ? `${line.slice(0, room - 1)}…` : line;
      })
      .join(' '.repeat(gap))
      .trimEnd(),
  );
}

function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, ' ');
}
