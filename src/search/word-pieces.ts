import { toWords } from './words.ts';

const maxWord = 40;
const rememberedWords = 50_000;

type WordPieces = (text: string) => number[];

/**
 * The uncased WordPiece split of BERT, without its punctuation and special tokens: those carry no meaning in a mean of
 * token vectors. Words whose characters the vocabulary lacks are left out.
 */
export function createWordPieces(vocabulary: string[]): WordPieces {
  const ids = new Map(vocabulary.map((token, id) => [token, id]));
  const remembered = new Map<string, number[]>();

  function split(word: string): number[] {
    if (word.length > maxWord) return [];
    const pieces: number[] = [];
    for (let start = 0; start < word.length; ) {
      let end = word.length;
      let id: number | undefined;
      for (; end > start; end--) {
        id = ids.get(start === 0 ? word.slice(0, end) : `##${word.slice(start, end)}`);
        if (id !== undefined) break;
      }
      if (id === undefined) return [];
      pieces.push(id);
      start = end;
    }
    return pieces;
  }

  function piecesOf(word: string): number[] {
    let pieces = remembered.get(word);
    if (pieces === undefined) {
      pieces = split(word);
      // Requests are written by strangers: the memory of words must not grow without end.
      if (remembered.size >= rememberedWords) remembered.clear();
      remembered.set(word, pieces);
    }
    return pieces;
  }

  return (text) => {
    const pieces: number[] = [];
    for (const { whole, parts } of toWords(text)) {
      if (parts.length === 0 || ids.has(whole)) pieces.push(...piecesOf(whole));
      else for (const part of parts) pieces.push(...piecesOf(part));
    }
    return pieces;
  };
}
