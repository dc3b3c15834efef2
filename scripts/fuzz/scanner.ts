/** The scanner of `src/json-scanner.ts` against `JSON.parse`: texts on which the two differ. */
import { scanDocument } from '../../src/json-scanner.ts';
import { scanAnswer } from '../../src/raw-result.ts';
import { createRandom, randomJson, randomObject } from '../../test/mcp/random-json.ts';
import { damage, spell } from '../../test/support/spelled-json.ts';

const maxFaults = 50;

export function fuzzScanner({ texts, seed }: { texts: number; seed: number }): string[] {
  const random = createRandom(seed);
  const faults: string[] = [];
  for (let count = 0; count < texts && faults.length < maxFaults; count += 1) {
    const value =
      count % 2 === 0 ? randomJson(random, 6) : { jsonrpc: '2.0', id: count + 1, result: randomObject(random, 5) };
    const whole = Buffer.from(spell(value, random));
    const bytes = count % 4 < 2 ? whole : damage(whole, random);
    if (!agrees(bytes)) faults.push(bytes.toString());
  }
  return faults;
}

function agrees(bytes: Buffer): boolean {
  const text = bytes.toString();
  const parsed = tryParse(text);
  if ((scanDocument(bytes) !== undefined) !== (parsed !== undefined)) return false;
  const answer = scanAnswer(bytes);
  if (answer === undefined || 'error' in answer) return true;
  const expected = parsed?.value as { id: unknown; result: unknown };
  return (
    answer.id === expected.id && JSON.stringify(JSON.parse(answer.result.toText())) === JSON.stringify(expected.result)
  );
}

function tryParse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined; // which the scanner has to find out, too
  }
}
