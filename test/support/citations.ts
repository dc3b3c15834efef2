/** Which rules of docs/rules.md the tests and comments of this repository cite, found in the syntax tree. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { type ESTree, parseSync } from 'vite';

export const repository = resolve(import.meta.dirname, '..', '..');

export interface CitingTest {
  file: string;
  line: number;
  title: string;
  /** The ids in its title and in the comment directly above it. */
  ids: string[];
  /** Its callback calls `assert`, itself or through a function that it calls. */
  asserts: boolean;
}

export interface SourceText {
  file: string;
  line: number;
  text: string;
}

interface Node {
  type: string;
  start: number;
  end: number;
}
type Fields = Node & Record<string, unknown>;

interface Module {
  file: string;
  text: string;
  program: ESTree.Program;
  comments: { value: string; start: number; end: number }[];
  /** Functions by the name they have in this file, whatever the scope. */
  functions: Map<string, Fields>;
  /** Where imported names come from; packages are left out. */
  imports: Map<string, { file: string; name: string }>;
}

const ruleId = /\b[A-Z]{1,4}-\d{3}\b/g;
const testCalls = new Set(['test', 'it']);

export function idsIn(text: string): string[] {
  return [...new Set(text.match(ruleId) ?? [])];
}

export function sourceFiles(folders: readonly string[]): string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((name) => /\.(ts|tsx|js)$/.test(name) && !name.includes('node_modules'))
    .map((name) => name.split(sep).join('/'))
    .sort();
}

export function createCitations(read = (file: string) => readFileSync(join(repository, file), 'utf8')) {
  const modules = new Map<string, Module>();
  const asserting = new Map<unknown, boolean>();

  function load(file: string): Module {
    const known = modules.get(file);
    if (known !== undefined) return known;
    const text = read(file);
    const { program, comments, errors } = parseSync(file, text);
    if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
    const loaded: Module = { file, text, program, comments, functions: new Map(), imports: new Map() };
    walk(program, (node) => declare(node, loaded));
    modules.set(file, loaded);
    return loaded;
  }

  function testsOf(file: string): CitingTest[] {
    const module = load(file);
    const tests: CitingTest[] = [];
    walk(module.program, (node) => {
      if (node.type !== 'CallExpression' || !testCalls.has(lastName(node.callee) ?? '')) return;
      const [title, ...others] = node.arguments as Fields[];
      if (title === undefined || !['Literal', 'TemplateLiteral'].includes(title.type)) return;
      const callback = others.at(-1);
      const words = module.text.slice(title.start, title.end);
      tests.push({
        file,
        line: lineAt(module.text, node.start),
        title: words,
        ids: idsIn(`${words} ${commentBefore(module, node.start)}`),
        asserts: callback !== undefined && asserts(callback, module),
      });
    });
    return tests;
  }

  /** True where `node` calls `assert`, or a function of this repository that does. */
  function asserts(node: Fields, module: Module): boolean {
    const known = asserting.get(node);
    if (known !== undefined) return known;
    asserting.set(node, false); // a function that calls itself asserts nothing by that
    let found = false;
    const body = node.type === 'Identifier' ? { type: 'Reference', start: 0, end: 0, callee: node } : node;
    walk(body as Fields, (inner) => {
      if (found || (inner.type !== 'CallExpression' && inner.type !== 'Reference')) return;
      found = isAssertion(inner.callee) || helperAsserts(inner.callee as Fields, module);
    });
    asserting.set(node, found);
    return found;
  }

  function helperAsserts(callee: Fields, module: Module): boolean {
    if (callee.type !== 'Identifier') return false;
    const name = String(callee.name);
    const own = module.functions.get(name);
    if (own !== undefined) return asserts(own, module);
    const imported = module.imports.get(name);
    if (imported === undefined || !existsSync(join(repository, imported.file))) return false;
    const other = load(imported.file);
    const helper = other.functions.get(imported.name);
    return helper !== undefined && asserts(helper, other);
  }

  return {
    testsOf,
    commentsOf(file: string): SourceText[] {
      const { comments, text } = load(file);
      return comments.map(({ value, start }) => ({ file, line: lineAt(text, start), text: value }));
    },
  };
}

function declare(node: Fields, module: Module): void {
  if (node.type === 'FunctionDeclaration' && isNode(node.id)) module.functions.set(String(node.id.name), node);
  if (node.type === 'VariableDeclarator' && isNode(node.id) && isNode(node.init)) {
    const isFunction = node.init.type === 'ArrowFunctionExpression' || node.init.type === 'FunctionExpression';
    if (isFunction) module.functions.set(String(node.id.name), node.init);
  }
  if (node.type !== 'ImportDeclaration') return;
  const from = String((node.source as Fields).value);
  if (!from.startsWith('.')) return;
  const file = relative(repository, resolve(repository, dirname(module.file), from))
    .split(sep)
    .join('/');
  for (const specifier of node.specifiers as Fields[]) {
    const { local, imported } = specifier as unknown as { local: Fields; imported?: Fields };
    module.imports.set(String(local.name), { file, name: String(imported?.name ?? 'default') });
  }
}

/** `assert(…)`, `assert.equal(…)`, `t.assert.equal(…)`. */
function isAssertion(callee: unknown): boolean {
  if (!isNode(callee)) return false;
  if (callee.type === 'Identifier') return callee.name === 'assert';
  return callee.type === 'MemberExpression' && (lastName(callee.object) === 'assert' || isAssertion(callee.object));
}

/** `test` of `test(…)` and of `t.test(…)`; not of `test.skip(…)`. */
function lastName(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'Identifier') return String(node.name);
  return node.type === 'MemberExpression' ? lastName(node.property) : undefined;
}

function commentBefore({ comments, text }: Module, start: number): string {
  const comment = comments.findLast(({ end }) => end <= start);
  return comment !== undefined && /^\s*(?:await\s+)?$/.test(text.slice(comment.end, start)) ? comment.value : '';
}

function lineAt(text: string, place: number): number {
  let line = 1;
  for (let next = text.indexOf('\n'); next !== -1 && next < place; next = text.indexOf('\n', next + 1)) line += 1;
  return line;
}

function isNode(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function walk(node: unknown, visit: (node: Fields) => void): void {
  if (Array.isArray(node)) for (const one of node) walk(one, visit);
  if (!isNode(node)) return;
  visit(node);
  for (const value of Object.values(node)) if (typeof value === 'object') walk(value, visit);
}
