/**
 * Lists exports of src/ that no other file imports: `node scripts/unused-exports.ts`. With `--fix` the word `export` goes
 * where the name is used in its own file; what is used nowhere is left for a person to delete.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const folders = ['src', 'test', 'bench', 'scripts', 'web/src', 'bin'];
/** Loaded by bin/, which is not compiled and asks for a path that it makes up. */
const entryPoints = new Set(['src/cli/cli.ts']);

interface UnusedExport {
  file: string;
  name: string;
  isUsedInside: boolean;
}

const texts = new Map(
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|tsx|js)$/.test(name))
      .map((name): [string, string] => [join(folder, name), readFileSync(join(root, folder, name), 'utf8')]),
  ),
);

const statement = /(?:import|export)\s+(?:type\s+)?(?:\w+\s*,?\s*)?(?:\{([^}]*)\}|(\*)[^']*?)?\s*from\s+'(\.[^']+)'/g;
const dynamic = /(?:\{([^{}]*)\}\s*=\s*await\s+)?import\('(\.[^']+)'\)\)?(?:\.(?!then\b|catch\b)(\w+))?/g;
const declaration =
  /^export\s+(?:declare\s+)?(?:async\s+)?(?:function\*?|const|let|class|interface|type|enum)\s+(\w+)/gm;

/** By file: the names that others import, or `*` where that cannot be told. */
function findImports(): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>();
  const add = (from: string, path: string, names: readonly string[]) => {
    const target = join(dirname(from), path);
    imports.set(target, new Set([...(imports.get(target) ?? []), ...names]));
  };
  for (const [file, text] of texts) {
    for (const [, names, star, path = ''] of text.matchAll(statement)) {
      add(file, path, star === undefined ? namesIn(names ?? '') : ['*']);
    }
    for (const [, names, path = '', member] of text.matchAll(dynamic)) {
      add(file, path, names !== undefined ? namesIn(names) : [member ?? '*']);
    }
  }
  return imports;
}

function namesIn(list: string): string[] {
  return list.split(',').map((name) => (/^\s*(?:type\s+)?(\w+)/.exec(name) ?? [])[1] ?? '');
}

export function findUnusedExports(): UnusedExport[] {
  const imports = findImports();
  return [...texts].flatMap(([file, text]) => {
    const imported = imports.get(file) ?? new Set();
    if (!file.startsWith('src') || entryPoints.has(file) || imported.has('*')) return [];
    return [...text.matchAll(declaration)].flatMap(([, name = '']) => {
      if (imported.has(name)) return [];
      const isUsedInside = (text.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length > 1;
      return [{ file, name, isUsedInside }];
    });
  });
}

function unexport({ file, name }: UnusedExport): void {
  const path = join(root, file);
  const exported = new RegExp(`^export\\s+(?=(?:[a-z]+\\*?\\s+)+${name}\\b)`, 'm');
  writeFileSync(path, readFileSync(path, 'utf8').replace(exported, ''));
}

if (import.meta.main) {
  const [flag, ...only] = process.argv.slice(2);
  const unused = findUnusedExports().filter(({ file }) => only.length === 0 || only.includes(file));
  for (const found of unused) {
    if (flag === '--fix' && found.isUsedInside) unexport(found);
    else console.log(`${found.file}: ${found.name}${found.isUsedInside ? '' : ' (used nowhere)'}`);
  }
}
