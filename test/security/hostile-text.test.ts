/**
 * Whatever reads what servers send takes time that grows with the length and no faster: a text that was made to be slow
 * must not stop everyone else. Every reader is given every hostile text, eight times longer each time. Times are those of
 * the processor, so that a busy machine changes little. All texts take minutes (HOSTILE_TEXTS=all); a test run takes
 * some of them. `npm run hostile-text` prints the times.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { floorMs, kilobyte, type Reader, readers, timeOf } from './hostile-readers.ts';
import { hostileTexts } from './hostile-texts.ts';

/** Three doublings, each of which may triple the time. */
const longer = 8;
const maxGrowth = 3 ** 3;
const firstSize = 8 * kilobyte;
const maxSize = 4_096 * kilobyte;
/** What grows by no more than this is linear; what grows by more is given longer texts until that is certain. */
const linearGrowth = 12;

const takenOf = process.env.HOSTILE_TEXTS === 'all' ? 1 : 8;

suite('the time for foreign text grows with its length', () => {
  for (const text of hostileTexts.filter((_, at) => at % takenOf === 0)) {
    test(text.name, async () => {
      const texts = new Map<number, string>();
      const makeText = (size: number): string => {
        const made = texts.get(size) ?? text.make(size);
        texts.set(size, made);
        return made;
      };
      const slow: string[] = [];
      for (const [name, read] of Object.entries(readers)) {
        const found = await findSlowness(read, makeText);
        if (found !== undefined) slow.push(`${name}: ${found}`);
      }
      assert.deepEqual(slow, []);
    });
  }
});

/** What is wrong, in words. */
async function findSlowness(read: Reader, makeText: (size: number) => string): Promise<string | undefined> {
  let before = (await timeOf(read, makeText(firstSize))) ?? Number.POSITIVE_INFINITY;
  for (let size = firstSize * longer; size <= maxSize; size *= longer) {
    const text = makeText(size);
    const ms = (await timeOf(read, text)) ?? Number.POSITIVE_INFINITY;
    if (ms < linearGrowth * Math.max(floorMs, before)) return undefined;
    const limit = maxGrowth * Math.max(floorMs, before);
    if (ms > limit && ((await timeOf(read, text)) ?? Number.POSITIVE_INFINITY) > limit)
      return `${before.toFixed(1)} ms, and ${ms.toFixed(1)} ms for ${size / kilobyte} KB, ${longer} times as much`;
    before = ms;
  }
  return undefined;
}
