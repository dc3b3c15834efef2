/** The table of topics in ARCHITECTURE.md is what the sources do: who publishes a topic, and who reacts to it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { suite, test } from 'node:test';
import { replicatedTopics } from '../src/changes.ts';

interface Use {
  publishers: Set<string>;
  reacting: Set<string>;
}

const root = join(import.meta.dirname, '..');
const eventStream = 'http/routes/state.ts';

suite('topics', () => {
  const declared = declaredTopics();
  const used = usedTopics();
  const documented = documentedTopics();

  test('ARCHITECTURE.md lists every topic, and no other', () => {
    assert.deepEqual([...documented.keys()].sort(), declared.sort());
  });

  for (const topic of declared) {
    test(`${topic}: the files that publish it and react to it are those in ARCHITECTURE.md`, () => {
      const { publishers, reacting } = used.get(topic) ?? { publishers: new Set(), reacting: new Set() };
      const row = documented.get(topic);
      assert.deepEqual(row?.publishers, [...publishers].sort());
      assert.deepEqual(row?.reacting, [...reacting].sort());
      assert.notEqual(publishers.size, 0);
      assert.notEqual(reacting.size, 0);
      assert.equal(row?.travels, topic in replicatedTopics ? 'replicated' : 'local');
    });
  }
});

function declaredTopics(): string[] {
  const text = read('src/changes.ts');
  const local = text.slice(text.indexOf('interface LocalTopics'), text.indexOf('export interface CallEvent'));
  return [...[...local.matchAll(/^ {2}'([^']+)':/gm)].map(([, name]) => name ?? ''), ...Object.keys(replicatedTopics)];
}

function usedTopics(): Map<string, Use> {
  const found = new Map<string, Use>();
  for (const file of sources()) {
    const text = read(`src/${file}`);
    const add = (pattern: RegExp, ...parts: (keyof Use)[]) => {
      for (const [, topic = ''] of text.matchAll(pattern)) {
        const use = found.get(topic) ?? { publishers: new Set(), reacting: new Set() };
        for (const part of parts) use[part].add(file);
        found.set(topic, use);
      }
    };
    add(/\.publish\(\s*'([^']+)'/g, 'publishers');
    add(/\.(?:subscribe|follow)\(\s*'([^']+)'/g, 'reacting');
    // A stored collection does both.
    add(/changes, topic: '([^']+)'/g, 'publishers', 'reacting');
    if (file === 'http/routes/backup.ts' && text.includes('changes.publishReplacedStore()')) {
      found.get('store.replaced')?.publishers.add(file);
    }
    if (file === 'replicas/bus.ts' && text.includes("topic: 'store.replaced'")) {
      found.get('store.replaced')?.publishers.add(file);
    }
  }
  const stream = read(`src/${eventStream}`);
  const streamed = stream.slice(stream.indexOf('const streamedTopics'), stream.indexOf('] as const satisfies'));
  for (const [, topic = ''] of streamed.matchAll(/'([^']+)'/g)) found.get(topic)?.reacting.add(eventStream);
  return found;
}

function documentedTopics(): Map<string, { travels: string; publishers: string[]; reacting: string[] }> {
  const text = read('ARCHITECTURE.md');
  const rows = text.matchAll(/^\| `([a-z_]+\.[a-z_]+)` \| (\w+) \| ([^|]+) \| ([^|]+) \|$/gm);
  return new Map(
    [...rows].map(([, topic = '', travels = '', publishers = '', reacting = '']) => [
      topic,
      { travels, publishers: filesIn(publishers), reacting: filesIn(reacting) },
    ]),
  );
}

function filesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, file]) => `${file}.ts`).sort();
}

function sources(): string[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.split(sep).join('/'))
    .sort();
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
