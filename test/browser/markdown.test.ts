/** The Markdown of servers, taken apart. That hostile texts take linear time is tested with the other readers. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Block, looksLikeMarkdown, toBlocks } from '../../web/src/parts/markdown-blocks.ts';
import { type Inline, toInline } from '../../web/src/parts/markdown-inline.ts';

const brief = (block: Block): unknown => {
  switch (block.kind) {
    case 'list':
      return { [block.start === undefined ? 'ul' : `ol ${block.start}`]: block.items.map((item) => item.map(brief)) };
    case 'quote':
      return { quote: block.blocks.map(brief) };
    case 'table':
      return { table: [block.columns.map(({ text, align }) => `${text} ${align ?? ''}`.trim()), ...block.rows] };
    case 'rule':
      return 'rule';
    default:
      return block.kind === 'paragraph' ? block.text : { [block.kind]: block.text };
  }
};
const blocks = (text: string) => toBlocks(text).map(brief);

const html = (parts: Inline[]): string =>
  parts
    .map((part) => {
      if ('text' in part) return part.kind === 'code' ? `<code>${part.text}</code>` : part.text;
      if (part.kind === 'link') return `<a ${part.href}>${html(part.parts)}</a>`;
      return `<${part.kind}>${html(part.parts)}</${part.kind}>`;
    })
    .join('');
const inline = (text: string) => html(toInline(text));

suite('Markdown of servers', () => {
  test('blocks', () => {
    const text = `# Title\n\nOne\ntwo\n\n---\n> said\n> - so\n\n\`\`\`js\n# not a title\n\`\`\`\nafter`;
    assert.deepEqual(blocks(text), [
      { heading: 'Title' },
      'One\ntwo',
      'rule',
      { quote: ['said', { ul: [['so']] }] },
      { code: '# not a title' },
      'after',
    ]);
    assert.deepEqual(blocks('```\nopen to the end'), [{ code: 'open to the end' }]);
  });

  test('lists in lists, with paragraphs, code and empty lines', () => {
    assert.deepEqual(blocks('- a\n  - b\n    - c\n  - d\n- e'), [
      { ul: [['a', { ul: [['b', { ul: [['c']] }], ['d']] }], ['e']] },
    ]);
    assert.deepEqual(blocks('3. first\n\n   more\n\n4. second\n   - inner\n\nafter'), [
      {
        'ol 3': [
          ['first', 'more'],
          ['second', { ul: [['inner']] }],
        ],
      },
      'after',
    ]);
    assert.deepEqual(blocks('* a\n  ```\n  code\n    in\n  ```\n* b'), [
      { ul: [['a', { code: 'code\n  in' }], ['b']] },
    ]);
    assert.deepEqual(blocks('- a\ngoes on\n1. one'), [{ ul: [['a\ngoes on']] }, { 'ol 1': [['one']] }]);
    assert.deepEqual(blocks('text\n- list'), ['text', { ul: [['list']] }]);
    assert.deepEqual(blocks('-\n- b'), [{ ul: [[], ['b']] }]);
    assert.deepEqual(blocks('-5 degrees'), ['-5 degrees']);
  });

  test('tables', () => {
    const text = 'Prices:\n| Name | Price |\n|:-----|------:|\n| a \\| b | `x|y` |\n| only |\nafter | it\n\nend';
    assert.deepEqual(blocks(text), [
      'Prices:',
      { table: [['Name left', 'Price right'], ['a | b', '`x|y`'], ['only'], ['after', 'it']] },
      'end',
    ]);
    assert.deepEqual(blocks('a | b\n--|--\n1 | 2'), [
      {
        table: [
          ['a', 'b'],
          ['1', '2'],
        ],
      },
    ]);
    assert.deepEqual(blocks('a | b\nc | d'), ['a | b\nc | d']);
  });

  test('emphasis, code and links', () => {
    assert.equal(
      inline('*a* _b_ **c** __d__ ~~e~~'),
      '<emphasis>a</emphasis> <emphasis>b</emphasis> <strong>c</strong> <strong>d</strong> <deleted>e</deleted>',
    );
    assert.equal(
      inline('***both*** and **a *b* c**'),
      '<strong><emphasis>both</emphasis></strong> and <strong>a <emphasis>b</emphasis> c</strong>',
    );
    assert.equal(inline('snake_case_name 2 * 3 * 4 *.ts **open'), 'snake_case_name 2 * 3 * 4 *.ts **open');
    assert.equal(inline('`a *b*` ``c ` d`` `e'), '<code>a *b*</code> <code>c ` d</code> `e');
    assert.equal(inline('\\*no\\* \\`no\\` C:\\dir'), '*no* `no` C:\\dir');
    assert.equal(
      inline('[a **b**](https://x.example/a_(b) "T") ![pic](https://x.example/p.png)'),
      '<a https://x.example/a_(b)>a <strong>b</strong></a> <a https://x.example/p.png>pic</a>',
    );
    assert.equal(
      inline('See https://x.example/a_b, or <https://y.example>.'),
      'See <a https://x.example/a_b>https://x.example/a_b</a>, or <a https://y.example>https://y.example</a>.',
    );
  });

  test('what is no link to a page stays text: scripts, files, HTML', () => {
    assert.equal(inline('[a](javascript:alert(1))'), '[a](javascript:alert(1))');
    assert.equal(inline('[a](file:///etc/passwd) [b][c]'), '[a](file:///etc/passwd) [b][c]');
    assert.equal(inline('<b onclick="x">a</b>'), '<b onclick="x">a</b>');
  });

  test('depth ends: what is nested deeper is shown as text', () => {
    const depth = (block: Block | undefined): number =>
      block?.kind === 'list'
        ? 1 + depth(block.items[0]?.[0])
        : block?.kind === 'quote'
          ? 1 + depth(block.blocks[0])
          : 0;
    assert.equal(depth(toBlocks(`${'- '.repeat(5_000)}a`)[0]), 8);
    assert.equal(depth(toBlocks(`${'> '.repeat(5_000)}a`)[0]), 8);
    assert.equal(inline('*a '.repeat(100)), '*a '.repeat(100));
  });

  test('plain text is not taken for Markdown', () => {
    for (const text of ['plain', 'a * b * c', 'snake_case and _private', '{"a": 1}', '2026-01-01 ok']) {
      assert.equal(looksLikeMarkdown(text), false, text);
    }
    for (const text of ['*a*', 'x **b**', '- a', '| a | b |', '[a](https://b.example)', '`a`']) {
      assert.equal(looksLikeMarkdown(text), true, text);
    }
  });
});
