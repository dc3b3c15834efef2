/** Whether a foreign SQL statement only selects. When in doubt, no. */

const changing =
  /\b(?:insert|update|delete|drop|alter|create|truncate|merge|replace|grant|revoke|attach|detach|vacuum|reindex|copy|call|exec|execute|do|into|lock|set|pragma|load_extension|lo_\w+|set_config|pg_\w+|dblink\w*|nextval|setval)\b/i;

export function isSelect(statement: string): boolean {
  const bare = withoutLiterals(statement);
  if (bare === undefined) return false;
  const text = bare.trim().replace(/;$/, '');
  return /^(?:select|with)\b/i.test(text) && !text.includes(';') && !changing.test(text);
}

/** Without strings, quoted names and comments, so that their words do not count; undefined where that is not certain. */
function withoutLiterals(statement: string): string | undefined {
  let bare = '';
  let at = 0;
  while (at < statement.length) {
    const end = endOfLiteral(statement, at);
    if (end === undefined) {
      bare += statement[at];
      at += 1;
      continue;
    }
    if (end < 0) return undefined;
    bare += ' ';
    at = end;
  }
  return bare;
}

/** The place after the literal or comment that begins here; -1 where databases differ or it never ends; undefined where none begins. */
function endOfLiteral(statement: string, at: number): number | undefined {
  const after = (mark: string, from: number): number => {
    const end = statement.indexOf(mark, from);
    return end < 0 ? -1 : end + mark.length;
  };
  const first = statement[at] ?? '';
  // A doubled quote inside ends one literal and begins the next, which comes to the same.
  if (first === "'" || first === '"' || first === '`') {
    const end = after(first, at + 1);
    // MySQL reads `\'` as a quote inside, other databases as the end. A function by its quoted name may do anything.
    const isDoubtful = statement.slice(at, end).includes('\\') || (first !== "'" && isCalled(statement, end));
    return isDoubtful ? -1 : end;
  }
  // A dollar quotes in PostgreSQL, a hash begins a comment in MySQL only, a bracket quotes names in SQLite.
  if (first === '$' || first === '#') return -1;
  if (first === '[') return /^\[[\w ,:]*\]/.test(statement.slice(at, at + maxBracketChars)) ? undefined : -1;
  // MySQL carries out what stands in `/*! … */`.
  if (statement.startsWith('/*', at)) return /^M?!/.test(statement.slice(at + 2, at + 4)) ? -1 : after('*/', at + 2);
  if (!statement.startsWith('--', at)) return undefined;
  // Without a space after it, two minus signs in MySQL.
  if (/^\S/.test(statement.slice(at + 2, at + 3))) return -1;
  const end = statement.indexOf('\n', at);
  return end < 0 ? statement.length : end + 1;
}

const maxBracketChars = 200;

const isCalled = (statement: string, end: number): boolean =>
  /^\s*\(/.test(statement.slice(end, end + maxBracketChars));
