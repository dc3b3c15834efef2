import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolAnswer } from '../../../src/query/reading/answer.ts';
import { type Item, toItems } from '../../../src/query/results/items.ts';

const source = { server: 'docs', tool: 'search', timestamp: '2026-11-15T00:00:00.000Z' };
const roomy = { maxChars: 1_000_000, maxItems: 1000 };

function items(answer: ToolAnswer): Item[] {
  return toItems(answer, source, roomy).items;
}

function text(value: string): ToolAnswer {
  return { content: [{ type: 'text', text: value }] };
}

test('structured content is preferred to the text that repeats it', () => {
  const found = items({
    structuredContent: {
      total: 2,
      results: [
        { title: 'A', url: 'https://a.test/1', content: 'First.' },
        { title: 'B', content: 'Second.' },
      ],
    },
    content: [{ type: 'text', text: 'something else' }],
  });
  assert.deepEqual(
    found.map(({ title, link, content, position }) => ({ title, link, content, position })),
    [
      { title: 'A', link: 'https://a.test/1', content: 'A\nFirst.', position: 0 },
      { title: 'B', link: undefined, content: 'B\nSecond.', position: 1 },
    ],
  );
  assert.deepEqual(
    found.map(({ server, tool, timestamp }) => ({ server, tool, timestamp })),
    [source, source],
  );
});

test('a knowledge graph gives its entities and relations as items', () => {
  const found = items({
    structuredContent: {
      entities: [{ name: 'Ada', entityType: 'person', observations: ['wrote the first program', 'lived in London'] }],
      relations: [{ from: 'Ada', to: 'Babbage', relationType: 'worked with' }],
    },
  });
  assert.deepEqual(
    found.map((item) => item.content),
    [
      'Ada\nentityType: person\nobservations: wrote the first program, lived in London',
      'from: Ada\nto: Babbage\nrelationType: worked with',
    ],
  );
  assert.equal(found[0]?.title, 'Ada');
});

test('JSON text: an array, an object, a nested envelope, scalars', () => {
  assert.deepEqual(
    items(text('["one", "two"]')).map((item) => item.content),
    ['one', 'two'],
  );
  assert.deepEqual(
    items(text('{"id":"7","name":"seven"}')).map((item) => item.content),
    ['seven\nid: 7'],
  );
  assert.deepEqual(
    items(text('{"data":{"page":1,"hits":[{"name":"x"},{"name":"y"}]}}')).map((item) => item.title),
    ['x', 'y'],
  );
  assert.deepEqual(
    items(text('[1, null, true]')).map((item) => item.content),
    ['1', 'true'],
  );
});

test('NDJSON gives one item per line', () => {
  assert.deepEqual(
    items(text('{"name":"a"}\n{"name":"b"}\n')).map((item) => item.title),
    ['a', 'b'],
  );
});

test('Markdown sections, with headings in code left alone', () => {
  const found = items(
    text(
      '# Guide\n\n## Install\nRun it.\n```sh\n# not a heading\nnpm i\n```\n## Use\nCall it, see [docs](https://d.test/use).',
    ),
  );
  assert.deepEqual(
    found.map((item) => item.title),
    ['Guide', 'Use'],
  );
  assert.match(found[0]?.content ?? '', /## Install[\s\S]*# not a heading/);
  assert.equal(found[1]?.link, 'https://d.test/use');
});

test('numbered hits keep title and link', () => {
  const found = items(
    text('Found 2 results:\n1. First hit\n   https://h.test/1\n   about this\n2. Second hit\n   https://h.test/2'),
  );
  assert.deepEqual(
    found.map(({ title, link }) => ({ title, link })),
    [
      { title: 'First hit', link: 'https://h.test/1' },
      { title: 'Second hit', link: 'https://h.test/2' },
    ],
  );
});

test('bullets that carry text are items, short ones stay one list', () => {
  const long = 'explains at some length how the cache is filled and when it is emptied again';
  assert.equal(items(text(`- first ${long}\n- second ${long}`)).length, 2);
  assert.equal(items(text('- red\n- green\n- blue')).length, 1);
});

test('rules separate, and so do paragraphs', () => {
  const a = 'A paragraph that is long enough to stand alone, about one thing.';
  const b = 'Another paragraph that is long enough to stand alone, about more.';
  assert.deepEqual(
    items(text(`${a}\n----------\n${b}`)).map((item) => item.content),
    [a, b],
  );
  assert.deepEqual(
    items(text(`${a}\n\n${b}`)).map((item) => item.content),
    [a, b],
  );
  assert.deepEqual(items(text('TITLE: X\nURL: https://x.test\n\nshort')).length, 1);
});

test('resource links and embedded text', () => {
  const found = items({
    content: [
      { type: 'resource_link', uri: 'file:///a.md', name: 'a', title: 'File A', description: 'About A' },
      {
        type: 'resource',
        resource: { uri: 'file:///b.md', text: 'The whole text of the second file, in one paragraph.' },
      },
    ],
  });
  assert.deepEqual(
    found.map(({ title, link }) => ({ title, link })),
    [
      { title: 'File A', link: 'file:///a.md' },
      { title: undefined, link: 'file:///b.md' },
    ],
  );
});

test('a server that answers binary: described, never dumped', () => {
  const blob = Buffer.alloc(30_000, 7).toString('base64');
  const found = items({
    content: [
      { type: 'image', data: blob, mimeType: 'image/png' },
      { type: 'audio', data: blob, mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'file:///x.bin', blob, mimeType: 'application/octet-stream' } },
      { type: 'text', text: blob },
      { type: 'text', text: '\u0000\u0001\u0002PNG\u0000\u0003'.repeat(50) },
      { type: 'hologram', frames: 3 },
    ],
  });
  assert.deepEqual(
    found.map((item) => item.content),
    [
      '(image, image/png, 29 KB, not shown)',
      '(audio, audio/wav, 29 KB, not shown)',
      '(resource file:///x.bin, application/octet-stream, 29 KB, not shown)',
      '(39 KB of binary data, not shown)',
      '(400 bytes of binary data, not shown)',
      '(hologram, not shown)',
    ],
  );
  const inJson = items({
    structuredContent: { items: [{ name: 'x', data: blob, embedding: Array.from({ length: 384 }, () => 0.1) }] },
  });
  assert.equal(
    inJson[0]?.content,
    'x\ndata: (40,000 characters of encoded data, not shown)\nembedding: (384 numbers, not shown)',
  );
});

test('nonsense instead of an answer gives no items', () => {
  for (const answer of [
    {},
    { content: 'x' },
    { content: [null, 3, []] },
    { content: [{ type: 'text' }] },
    { structuredContent: null },
  ]) {
    assert.deepEqual(items(answer), []);
  }
});

test('long texts come in parts at a paragraph', () => {
  const paragraph = `${'word '.repeat(500).trim()}.`;
  const found = items({
    structuredContent: [{ title: 'Long', content: Array.from({ length: 6 }, () => paragraph).join('\n\n') }],
  });
  assert.ok(found.length >= 2);
  assert.ok(found.every((item) => item.content.length <= 6000 && item.title === 'Long' && /\.$/.test(item.content)));
});

test('a server that answers 50 MB: cut after a whole item, marked, quickly, whatever its shape', () => {
  const record = { title: 'entry', content: 'word '.repeat(200).trim() };
  const records = Array.from({ length: 50_000 }, (_, id) => ({ id, ...record }));
  const json = JSON.stringify(records);
  assert.ok(json.length > 50_000_000);
  const shapes: [string, ToolAnswer][] = [
    ['structured', { structuredContent: { items: records } }],
    ['JSON', text(json)],
    ['JSON in an envelope', text(`{"total":50000,"items":${json}}`)],
    ['NDJSON', text(records.map((entry) => JSON.stringify(entry)).join('\n'))],
    ['Markdown', text(records.map((entry) => `## ${entry.id}\n${entry.content}`).join('\n'))],
    ['one line', text('word '.repeat(10_000_000))],
  ];
  for (const [shape, answer] of shapes) {
    const { items: found, truncated } = toItems(answer, source, { maxChars: 500_000, maxItems: 1000 });
    assert.equal(truncated, true, shape);
    assert.ok(found.length > 50, shape);
    const chars = found.reduce((sum, item) => sum + item.content.length, 0);
    assert.ok(chars <= 500_000, `${shape}: ${chars}`);
    if (shape !== 'one line') {
      const whole = found.slice(0, -1);
      assert.ok(
        whole.every((item) => item.content.includes(record.content)),
        shape,
      );
    }
  }
});
