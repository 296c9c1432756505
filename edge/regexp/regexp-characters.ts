/** Single characters of a regular expression, and rows of them. */
import { type Part, type Run, spend } from './regexp-run.ts';

export type CharacterTest = (code: number) => boolean;

export const buildCharacter =
  (test: CharacterTest, next: Part): Part =>
  (run, at) => {
    spend(run, 1);
    return at < run.input.length && test(run.input.charCodeAt(at)) ? next(run, at + 1) : -1;
  };

/** The same kind of character again and again, matched in a loop rather than by going deeper for each. */
export function buildRun({ min, max, isLazy }: { min: number; max: number; isLazy: boolean }, test: CharacterTest, next: Part): Part {
  const lengthOfRun = (run: Run, at: number, most: number) => {
    const limit = Math.min(run.input.length - at, most);
    let length = 0;
    while (length < limit && test(run.input.charCodeAt(at + length))) length += 1;
    spend(run, length + 1);
    return length;
  };
  if (isLazy) {
    return (run, at) => {
      if (lengthOfRun(run, at, min) < min) return -1;
      for (let length = min; ; length += 1) {
        const end = next(run, at + length);
        if (end >= 0) return end;
        if (length >= max || lengthOfRun(run, at + length, 1) === 0) return -1;
      }
    };
  }
  return (run, at) => {
    for (let length = lengthOfRun(run, at, max); length >= min; length -= 1) {
      spend(run, 1);
      const end = next(run, at + length);
      if (end >= 0) return end;
    }
    return -1;
  };
}

/** The test for whatever stands for one character: itself, `.`, an escape, or a class in brackets. */
export function characterTest(text: string, isCaseless: boolean): CharacterTest {
  if (text === '.') return (code) => code !== 10 && code !== 13 && code !== 0x2028 && code !== 0x2029;
  const { isNegated, tests } = text.startsWith('[') && text.length > 1 ? readClass(text) : { isNegated: false, tests: [readItem(text)] };
  const isIn: CharacterTest = (code) => tests.some((test) => test(code));
  const [first] = tests;
  const simple = tests.length === 1 && first ? first : isIn;
  const folded = isCaseless ? (code: number) => simple(code) || simple(otherCase(code)) : simple;
  const test: CharacterTest = isNegated ? (code) => !folded(code) : folded;
  if (tests.length <= 1 && !isCaseless) return test;
  const known = Uint8Array.from({ length: 128 }, (_, code) => (test(code) ? 1 : 0));
  return (code) => (code < 128 ? known[code] === 1 : test(code));
}

function otherCase(code: number): number {
  const character = String.fromCharCode(code);
  const upper = character.toUpperCase();
  const other = upper === character ? character.toLowerCase() : upper;
  return other.length === 1 ? other.charCodeAt(0) : code;
}

const itemText = /\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|c[a-z]|[^])|[^]/giy;

function readClass(text: string): { isNegated: boolean; tests: CharacterTest[] } {
  const isNegated = text.startsWith('[^');
  const items = text.slice(isNegated ? 2 : 1, -1).match(itemText) ?? [];
  const tests: CharacterTest[] = [];
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index] ?? '';
    const [dash, last] = [items[index + 1], items[index + 2]];
    const [from, to] = [codeOf(item), last === undefined ? undefined : codeOf(last)];
    if (dash === '-' && from !== undefined && to !== undefined) {
      tests.push((code) => code >= from && code <= to);
      index += 2;
    } else tests.push(readItem(item));
  }
  return { isNegated, tests };
}

const kinds: Readonly<Record<string, CharacterTest>> = {
  '\\d': (code) => code >= 48 && code <= 57,
  '\\w': (code) => (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95,
  '\\s': (code) => /\s/.test(String.fromCharCode(code)),
};

function readItem(item: string): CharacterTest {
  const kind = kinds[item.toLowerCase()];
  if (kind && /^\\[DWS]$/.test(item)) return (code) => !kind(code);
  if (kind) return kind;
  const expected = codeOf(item);
  return (code) => code === expected;
}

const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, b: 8, '0': 0 };

/** Undefined: the item stands for a kind of character, not for one. */
function codeOf(item: string): number | undefined {
  if (Object.hasOwn(kinds, item.toLowerCase())) return undefined;
  if (item.length === 1 || !item.startsWith('\\')) return item.charCodeAt(0);
  const letter = item.charAt(1);
  if (/^\\[xu]./i.test(item) && item.length > 2 && (letter === 'x' || letter === 'u')) return Number.parseInt(item.slice(2), 16);
  if (letter === 'c' && item.length === 3) return item.charCodeAt(2) % 32;
  return controls[letter] ?? letter.charCodeAt(0);
}
