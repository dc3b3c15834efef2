import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../src/exact-json.ts';
import type { JsonObject } from '../src/json-rpc.ts';
import { scanDocument } from '../src/json-scanner.ts';
import { maxBodyDepth } from '../src/json-size.ts';
import { type RawResult, scanAnswer } from '../src/raw-result.ts';
import { createRandom, type Json, pick, type Random, randomJson, randomObject } from './mcp/random-json.ts';
import { damage, spell } from './support/spelled-json.ts';

const rounds = 6_000;

test('the scanner takes what the parser takes, in every spelling, and nothing else', () => {
  const random = createRandom(1);
  let valid = 0;
  for (let round = 0; round < rounds; round += 1) {
    const whole = Buffer.from(spell(randomJson(random), random));
    const text = round % 2 === 0 ? whole : damage(whole, random);
    assert.equal(scanDocument(text) !== undefined, isValid(text), text.toString());
    if (isValid(text)) valid += 1;
  }
  assert.ok(valid > rounds / 2 && valid < rounds, `${valid} of ${rounds} were valid`);
});

test('the scanner and the parser agree on the corners of the grammar', () => {
  const texts = [
    ...[
      '',
      ' ',
      '{',
      '}',
      '[',
      ']',
      '[1,]',
      '[,1]',
      '[1 2]',
      '{"a"}',
      '{"a":}',
      '{"a":1,}',
      '{,"a":1}',
      '{"a" 1}',
      '{a:1}',
    ],
    ...[
      '0',
      '-0',
      '01',
      '-',
      '-a',
      '1.',
      '.1',
      '1.0',
      '1e',
      '1e+',
      '1E-5',
      '1e05',
      '+1',
      '0x1',
      'NaN',
      'Infinity',
      '1_0',
    ],
    ...['true', 'tru', 'truex', 'nul', 'null', 'false', 'False', 'undefined'],
    ...['"', '"a', '"\\"', '"\\x"', '"\\u12"', '"\\u12g4"', '"\\ud800"', '"\\u0000"', '"\t"', '"\u0000"', '"\u007f"'],
    ...[
      '"abc\u001f"',
      '"abcd\n"',
      '"\u2028"',
      '"é"',
      'é',
      '\ufeff{}',
      '{}\u00a0',
      ' \t\r\n[ ]\n',
      '[]]',
      '{}{}',
      '"a""b"',
    ],
  ];
  for (const text of texts)
    assert.equal(scanDocument(Buffer.from(text)) !== undefined, isValid(Buffer.from(text)), text);
});

test('numbers that JavaScript may not hold are told', () => {
  for (const text of ['1234567890123456', '[-1.23456789012345678]', '{"a":[1e400]}', '5e-324'])
    assert.equal(scanDocument(Buffer.from(text))?.hasLongNumber, true, text);
  for (const text of ['1', '123456789012345', '{"1234567890123456789":"1e400"}'])
    assert.equal(scanDocument(Buffer.from(text))?.hasLongNumber, false, text);
});

test('what is nested too deeply is refused where its id comes first, and is left to the parser otherwise', () => {
  const nested = (levels: number) => Buffer.from('['.repeat(levels) + ']'.repeat(levels));
  assert.ok(scanDocument(nested(maxBodyDepth)));
  assert.equal(scanDocument(nested(maxBodyDepth + 1)), undefined);
  assert.equal(scanDocument(nested(1_000_000)), undefined);
  const answer = (levels: number) => Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":${nested(levels)}}}`);
  assert.ok(scanAnswer(answer(maxBodyDepth - 2)));
  for (const tooDeep of [answer(maxBodyDepth - 1), Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${nested(100_000)}}`)])
    assert.deepEqual(scanAnswer(tooDeep), {
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, message: "The server's answer is nested more than 1000 levels deep" },
    });
  assert.equal(scanAnswer(Buffer.from(`{"jsonrpc":"2.0","result":${nested(maxBodyDepth)},"id":1}`)), undefined);
});

test('a result that was scanned says what the parser says, whole, by member and with changes', () => {
  const random = createRandom(2);
  let scanned = 0;
  for (let round = 0; round < rounds; round += 1) {
    const result = { ...randomObject(random), ...resultMembers(random) };
    const whole = Buffer.from(spell(envelope(result, random), random));
    const bytes = round % 4 === 0 ? damage(whole, random) : whole;
    const answer = scanAnswer(bytes);
    if (answer === undefined || 'error' in answer) continue;
    scanned += 1;
    const parsed = parseJson(bytes.toString()) as { jsonrpc: unknown; id: unknown; result: JsonObject };
    assert.equal(parsed.jsonrpc, '2.0');
    assert.equal(answer.id, parsed.id);
    assert.ok(!('method' in parsed) && !('error' in parsed));
    assertSame(answer.result, parsed.result);
    assert.ok(answer.result.hasUri || !uriIn(parsed.result), bytes.toString());
    const changes = { _meta: '{"ключ":"é"}', resultType: undefined, added: '1.0' };
    const { resultType: _left, ...kept } = parsed.result;
    assertSame(answer.result.withChanges(changes), { ...kept, _meta: { ключ: 'é' }, added: 1 });
  }
  assert.ok(scanned > rounds / 4, `${scanned} of ${rounds} were scanned`);
});

test('what readers may understand differently is left to the parser', () => {
  const result = (members: string) => `{"jsonrpc":"2.0","id":1,"result":{${members}}}`;
  for (const text of [
    result('"isError":false,"isError":true'),
    result('"is\\u0045rror":true'),
    result('"content":[],"content":[]'),
    result(Array.from({ length: 40 }, (_none, number) => `"m${number}":1`).join()),
    '{"jsonrpc":"2.0","id":1,"id":2,"result":{}}',
    '{"jsonrpc":"2.0","id":1,"result":{},"result":{}}',
    '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}',
    '{"jsonrpc":"2.0","id":1.0,"result":{}}',
    '{"jsonrpc":"2.0","id":"1","result":{}}',
    '{"jsonrpc":"2.0","id":12345678901234567890,"result":{}}',
    '{"jsonrpc":"1.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":1,"result":null}',
    '{"jsonrpc":"2.0","id":1,"result":[]}',
    '{"jsonrpc":"2.0","result":{}}',
    '[{"jsonrpc":"2.0","id":1,"result":{}}]',
    `${result('')}{}`,
  ])
    assert.equal(scanAnswer(Buffer.from(text)), undefined, text);
  // Not UTF-8: the parser puts a question mark in its place.
  assert.equal(
    scanAnswer(
      Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"a":"'), Buffer.from([0xff]), Buffer.from('"}}')]),
    ),
    undefined,
  );
});

test('names of members that every object has are members like others', () => {
  const { result } = scanAnswer(
    Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"constructor":1,"toString":2,"__proto__":{"a":3}}}'),
  ) as { result: RawResult };
  const written = toJson(result.withChanges({ _meta: '{}' }));
  assert.equal(written, '{"constructor":1,"toString":2,"__proto__":{"a":3},"_meta":{}}');
  assert.equal(result.has('valueOf'), false);
});

test('bytes go through as they came', () => {
  const text = '{ "content" : [ {"type":"text","text":"\\u00e9é\\/"} ],\n "n" : [1.0, 1e2, 12345678901234567890, -0] }';
  const { result } = scanAnswer(Buffer.from(`{"result":${text},"id":7,"jsonrpc":"2.0"} \r`)) as { result: RawResult };
  assert.equal(toJson(result), text);
  assert.equal(result.toText(), text.replace('\n', ' '));
});

function assertSame(raw: RawResult, expected: JsonObject): void {
  const written = toJson(raw);
  assert.deepEqual(plain(parseJson(written)), plain(expected), written);
  assert.deepEqual(plain(parseJson(raw.toText())), plain(expected));
  for (const [name, value] of Object.entries(expected)) {
    assert.ok(raw.has(name));
    assert.deepEqual(plain(raw.read(name)), plain(value), name);
  }
  assert.deepEqual(plain(raw.toObject()), plain(expected));
}

function toJson(raw: RawResult): string {
  return Buffer.concat(
    raw.toParts().map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)),
  ).toString();
}

/** To be compared: a number as it was written is an object of its own. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function uriIn({ content, contents, messages }: JsonObject): boolean {
  const holds = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && ('uri' in value || Object.values(value).some(holds));
  return [content, contents, messages].some(holds);
}

function resultMembers(random: Random): { [key: string]: Json } {
  const members: { [key: string]: Json } = {
    isError: random() < 0.5,
    resultType: pick(random, ['complete', 'input_required', null]),
    structuredContent: randomJson(random),
    _meta: randomObject(random),
    content: [
      { type: 'text', text: 'é' },
      pick<Json>(random, [{ type: 'resource', resource: { uri: 'a:b' } }, { uri: 'x' }, 1]),
    ],
    messages: [{ role: 'user', content: randomObject(random) }],
  };
  return Object.fromEntries(Object.entries(members).filter(() => random() < 0.5));
}

function envelope(result: Json, random: Random): Json {
  const members: [string, Json][] = [
    ['jsonrpc', random() < 0.97 ? '2.0' : '1.0'],
    ['id', random() < 0.97 ? Math.floor(random() * 1e6) : 'text'],
    ['result', result],
  ];
  if (random() < 0.1) members.push(['more', randomJson(random)]);
  if (random() < 0.03) members.push([pick(random, ['method', 'error']), randomJson(random)]);
  return Object.fromEntries(members.toSorted(() => random() - 0.5));
}

function isValid(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}
