import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { condense } from '../../../src/query/results/condense.ts';
import type { Item } from '../../../src/query/results/items.ts';
import { passagesOf } from '../../../src/query/results/passages.ts';
import type { Ranked } from '../../../src/query/results/rank.ts';
import { estimateTokens } from '../../../src/query/results/tokens.ts';
import { random } from '../random.ts';

const texts = (text: string) => passagesOf(text).map((passage) => passage.text);

suite('passages', () => {
  test('sentences of a paragraph, whether it is one line or was broken into lines', () => {
    assert.deepEqual(texts('Version 1.2.3 is out. It is faster! See http://a.test/x.html? Yes, "really." And so on'), [
      'Version 1.2.3 is out.',
      'It is faster!',
      'See http://a.test/x.html?',
      'Yes, "really."',
      'And so on',
    ]);
    assert.deepEqual(
      texts('This is a line that was broken because the page was\nfull of words. The next sentence follows.'),
      ['This is a line that was broken because the page was\nfull of words.', 'The next sentence follows.'],
    );
    assert.deepEqual(texts('再試行は三回です。間隔は倍になります。'), ['再試行は三回です。', '間隔は倍になります。']);
  });

  test('entries, rows and `key: value` lines stand alone; code stays whole; a heading goes with what follows', () => {
    assert.deepEqual(texts('name: x\nsize: 5\n- one\n- two\n| a | b |\n| c | d |'), [
      ...['name: x', 'size: 5', '- one', '- two', '| a | b |', '| c | d |'],
    ]);
    assert.deepEqual(
      texts('# Page\n\n## Part\n\nFirst. Second.\n\n```js\nif (a) {\n\n  b();\n}\n```\nLast.\n### End'),
      ['# Page\n## Part\nFirst.', 'Second.', '```js\nif (a) {\n\n  b();\n}\n```', 'Last.', '### End'],
    );
    assert.deepEqual(texts('```\nnever closed'), ['```\nnever closed']);
    assert.deepEqual([texts(''), texts(' \n\n ')], [[], []]);
  });

  test('nothing is lost but white space, whatever the text', () => {
    const next = random(3);
    const parts = [
      'Word',
      'other words here.',
      '\n',
      '\n\n',
      '# Head',
      '- item',
      '```',
      '| x |',
      '。',
      ' ',
      'Yes! No?',
    ];
    for (let round = 0; round < 500; round++) {
      const text = Array.from({ length: 20 }, () => parts[Math.floor(next() * parts.length)]).join(
        next() < 0.5 ? ' ' : '',
      );
      const kept = passagesOf(text).map((passage) => passage.before + passage.text);
      assert.equal(kept.join('').replace(/\s/g, ''), text.replace(/\s/g, ''));
    }
  });
});

suite('results in fewer words', () => {
  const filler = (n: number) => `The reference lists every option of chapter ${n} in alphabetical order for readers.`;
  const page = (...said: string[]) =>
    Array.from({ length: 81 }, (_, n) => (n % 27 === 7 ? (said[Math.floor(n / 27)] ?? filler(n)) : filler(n))).join(
      ' ',
    );
  const ranked = (content: string, more: Partial<Item> = {}): Ranked => {
    const item = {
      content,
      server: 's',
      tool: 't',
      timestamp: '2026-01-01T00:00:00Z',
      position: 0,
      relevance: 1,
      ...more,
    };
    return { item, sources: [item], score: 0.5 };
  };
  const query = 'how are failed requests retried';
  const answer = 'Failed requests are retried three times with a growing pause.';
  const other = 'Set the number of retries to zero and requests fail at once.';

  test('the passages that matter are kept, in their order, marked where something was left out', async () => {
    const [shown] = await condense({ query, results: [ranked(page(answer, other))] });
    assert.equal(shown?.condensed, true);
    assert.match(shown?.item.content ?? '', new RegExp(`${answer} … (.* … )?${other}`));
    assert.ok(estimateTokens(shown?.item.content ?? '') <= 900);
    const original = page(answer, other);
    for (const piece of shown?.item.content.split(' … ') ?? []) assert.ok(original.includes(piece), piece);
  });

  test('Q-018: short results are whole; the lower the rank, the less a long one may say; none is lost', async () => {
    const results = Array.from({ length: 48 }, (_, n) =>
      ranked(page(`Failed requests of case ${n} are retried.`), { position: n }),
    );
    const brief = ranked('Failed requests are retried.');
    const shown = await condense({ query, results: [brief, ...results] });
    assert.deepEqual(shown[0], brief);
    assert.equal(shown.length, 49);
    const lengths = shown.slice(1).map(({ item }) => estimateTokens(item.content));
    assert.ok(Math.max(...lengths) <= 900 && Math.max(...lengths.slice(36)) <= 75, lengths.join(' '));
    for (const [n, { item }] of shown.slice(1).entries()) {
      assert.ok(item.content.includes(`case ${n} `), `${n}: ${item.content}`);
      assert.equal(item.position, n);
    }
    assert.deepEqual(await condense({ query, results: [brief, ...results] }), shown, 'the same every time');
  });

  test('title, link and badges are not said twice; what results above said gives way', async () => {
    const link = 'https://docs.test/retries';
    const content = `## Retries\n![ok](https://badge.test/ok.svg)\n${page(answer)}\n\n[source](${link})`;
    const [first] = await condense({ query, results: [ranked(content, { title: 'Retries', link })] });
    assert.ok(!/Retries|badge|docs\.test/.test(first?.item.content ?? ''), first?.item.content);
    assert.equal(first?.item.link, link);

    const everywhere = `Were failed requests retried for you? ${'Tell us how, in the forum for readers, '.repeat(4)}please`;
    const repeated = Array.from({ length: 40 }, (_, n) =>
      ranked(page(everywhere, `Requests of kind ${n} are retried.`)),
    );
    const shown = await condense({ query, results: repeated });
    assert.ok(shown[0]?.item.content.includes('Were failed'));
    const last = shown.at(-1)?.item.content ?? '';
    assert.ok(last.includes('kind 39') && !last.includes('Were failed'), last);
  });

  test('meaning counts where words do not, and a result that says nothing about the query shows how it begins', async () => {
    const meant = 'Another attempt is made when something went wrong.';
    const embed = (list: readonly string[]) =>
      list.map((text) => Float32Array.from(/attempt|retried/.test(text) ? [1, 0] : [0, 1]));
    const [close] = await condense({ query, results: [ranked(page(meant))], embed });
    assert.ok(close?.item.content.includes(meant));
    const [none] = await condense({ query: 'giraffes', results: [ranked(page())] });
    assert.ok(none?.item.content.startsWith(filler(0)), none?.item.content);
    assert.ok(estimateTokens(none?.item.content ?? '') < 100);
  });

  test('one passage longer than all there is room for is cut; what a model shortened is left alone', async () => {
    const [shown] = await condense({ query, results: [ranked('retried requests '.repeat(2_000))] });
    assert.match(shown?.item.content ?? '', /…$/);
    assert.ok(estimateTokens(shown?.item.content ?? '') <= 900);
    const already: Ranked = { ...ranked(page(answer)), condensed: true };
    assert.deepEqual(await condense({ query, results: [already] }), [already]);
    assert.deepEqual(await condense({ query, results: [] }), []);
  });
});
