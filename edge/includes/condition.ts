/** The `expr` of an `if`: `$name`, `$name = text`, `$name != text`, and the same with a regular expression between slashes. */
import { readRegexp, regexpList } from '../regexp/bounded-regexp.ts';
import type { PageMemory } from './page-memory.ts';

export interface Verdict {
  isTrue: boolean;
  /** What the groups of a regular expression caught: by their names in lower case, and by their numbers. */
  caught: ReadonlyMap<string, string>;
}

const nothing: ReadonlyMap<string, string> = new Map();

/** Undefined: it cannot be read, or cannot be decided in the time that there is. */
export function judge(expression: string, fill: (text: string) => string, memory: PageMemory): Verdict | undefined {
  const operator = expression.search(/[!=]/);
  if (operator === -1) return { isTrue: fill(expression.trim()) !== '', caught: nothing };
  const isNegated = expression[operator] === '!';
  const end = operator + (isNegated ? 2 : 1);
  if (expression[end - 1] !== '=') return undefined;
  const left = fill(expression.slice(0, operator).trim());
  const right = expression.slice(end).trim();
  if (!right.startsWith('/')) return { isTrue: (left === fill(right)) !== isNegated, caught: nothing };
  return right.length > 2 && right.endsWith('/') ? judgeRegexp(left, right.slice(1, -1), isNegated, memory) : undefined;
}

function judgeRegexp(subject: string, source: string, isNegated: boolean, memory: PageMemory): Verdict | undefined {
  if (!memory.takeRegexp() || !readRegexp(source)) return undefined;
  const found = regexpList([source]).first(subject);
  if (found === 'undecided') {
    memory.spendRegexps();
    return undefined;
  }
  const groups = found ? [...Object.entries(found.groups), ...Object.entries(found.named)] : [];
  const caught = new Map(groups.map(([name, text]) => [name.toLowerCase(), text ?? '']));
  return { isTrue: (found !== undefined) !== isNegated, caught };
}
