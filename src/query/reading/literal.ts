/**
 * Values as Python prints them: `[{'name': 'Ada', 'left': None}, (1, True)]`. Many servers answer so. One pass over the
 * text; undefined where it is something else.
 */
export function parsePythonLiteral(text: string): unknown {
  const scanner = new Scanner(text);
  try {
    const value = scanner.value(0);
    scanner.space();
    return scanner.isAtEnd() ? value : undefined;
  } catch (error) {
    if (error instanceof NotALiteral) return undefined;
    throw error;
  }
}

class NotALiteral extends Error {}

const maxDepth = 40;
const closers: Record<string, string> = { '[': ']', '(': ')', '{': '}' };

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  space(): void {
    while (this.#at < this.#text.length && this.#text.charCodeAt(this.#at) <= 32) this.#at += 1;
  }

  value(depth: number): unknown {
    if (depth > maxDepth) throw new NotALiteral();
    this.space();
    const character = this.#text[this.#at] ?? '';
    if (character === '[' || character === '(') return this.#list(closers[character] ?? '', depth);
    if (character === '{') return this.#record(depth);
    if (character === "'" || character === '"') return this.#string(character);
    return this.#word();
  }

  #list(closer: string, depth: number): unknown[] {
    const values: unknown[] = [];
    this.#at += 1;
    for (;;) {
      this.space();
      if (this.#text[this.#at] === closer) break;
      values.push(this.value(depth + 1));
      if (!this.#separator(closer)) break;
    }
    this.#at += 1;
    return values;
  }

  #record(depth: number): Record<string, unknown> {
    const record: Record<string, unknown> = {};
    this.#at += 1;
    for (;;) {
      this.space();
      if (this.#text[this.#at] === '}') break;
      const key = this.value(depth + 1);
      this.space();
      if (this.#text[this.#at] !== ':' || typeof key === 'object') throw new NotALiteral();
      this.#at += 1;
      Object.defineProperty(record, String(key), { value: this.value(depth + 1), enumerable: true, writable: true });
      if (!this.#separator('}')) break;
    }
    this.#at += 1;
    return record;
  }

  /** True where another element may follow. */
  #separator(closer: string): boolean {
    this.space();
    const character = this.#text[this.#at];
    if (character === closer) return false;
    if (character !== ',') throw new NotALiteral();
    this.#at += 1;
    return true;
  }

  #string(quote: string): string {
    let value = '';
    let from = this.#at + 1;
    for (let at = from; at < this.#text.length; at += 1) {
      const character = this.#text[at];
      if (character === '\\') {
        value += this.#text.slice(from, at) + unescaped(this.#text[at + 1] ?? '');
        at += 1;
        from = at + 1;
      } else if (character === quote) {
        this.#at = at + 1;
        return value + this.#text.slice(from, at);
      }
    }
    throw new NotALiteral();
  }

  /** Numbers, constants, and calls such as `datetime.date(2026, 3, 3)`, which stay as they are written. */
  #word(): unknown {
    const from = this.#at;
    while (this.#at < this.#text.length && /[\w.+-]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
    const word = this.#text.slice(from, this.#at);
    if (word === '') throw new NotALiteral();
    if (word === 'None') return null;
    if (word === 'True' || word === 'False') return word === 'True';
    if (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(word)) return Number(word);
    if (this.#text[this.#at] !== '(') throw new NotALiteral();
    const end = this.#text.indexOf(')', this.#at);
    if (end < 0) throw new NotALiteral();
    this.#at = end + 1;
    return this.#text.slice(from, this.#at);
  }
}

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r' };
const unescaped = (character: string): string => escapes[character] ?? character;
