import { isObject } from '../../json-rpc.ts';
import type { Worked } from '../../worker-task.ts';
import type { AnswerBytes, Excerpt } from './excerpt.ts';
import { jsonPrefix } from './json-prefix.ts';

/** More than a query ever reads, so that the reader sees that there was more. */
const maxChars = 1_048_576;

/** In the worker thread. */
export function work({ content, contents, structuredContent }: AnswerBytes): Worked<Excerpt> {
  let isTruncated = false;

  function cut(text: unknown): unknown {
    if (typeof text !== 'string' || text.length <= maxChars) return text;
    isTruncated = true;
    return text.slice(0, maxChars);
  }

  /** A block of content, or a resource. */
  function cutBlock(block: unknown): unknown {
    if (!isObject(block)) return block;
    const short = { ...block };
    for (const name of ['text', 'blob', 'data']) if (name in block) short[name] = cut(block[name]);
    if ('resource' in block) short.resource = cutBlock(block.resource);
    return short;
  }

  function readBlocks(bytes: Uint8Array | undefined): unknown {
    if (bytes === undefined) return undefined;
    const blocks: unknown = JSON.parse(toText(bytes));
    if (!Array.isArray(blocks)) return blocks;
    isTruncated ||= blocks.length > maxBlocks;
    return blocks.slice(0, maxBlocks).map(cutBlock);
  }

  function readStructure(bytes: Uint8Array | undefined): unknown {
    if (bytes === undefined) return undefined;
    const text = toText(bytes);
    const prefix = text.length <= maxChars ? text : jsonPrefix(text, maxChars);
    isTruncated ||= prefix !== text;
    return prefix === undefined ? undefined : JSON.parse(prefix);
  }

  const output: Excerpt = {
    content: readBlocks(content),
    contents: readBlocks(contents),
    structuredContent: readStructure(structuredContent),
  };
  return { output: { ...output, isTruncated }, transfer: [] };
}

const maxBlocks = 10_000;

const toText = (bytes: Uint8Array): string => Buffer.from(bytes.buffer).toString('utf8');
