/**
 * Regular expressions that users wrote, asked in order about a subject that strangers wrote: rules of locations, redirects, names of cookies. Neither may
 * keep the edge from its work, so each look has so many steps and no more. When they are used up the list is `undecided`, and stays so without
 * trying again for long enough to cost but a small part of the processor's time. Whoever asks decides what undecided means: never that something is
 * allowed.
 */
import { type Matcher, matcherOf } from './regexp-matcher.ts';
import { outOfSteps, type StepBudget } from './regexp-run.ts';
import { readRegexpTree } from './regexp-syntax.ts';

/** A step takes ten to a hundred nanoseconds: the less often the expression has run, the longer. */
const stepsMax = 60_000;
const restMilliseconds = 100;
const sourceCharactersMax = 2000;
/** What making an expression ready takes. */
const stepsPerCharacter = 10;
/** How many nodes the tree may have; more would be deeper than the stack. */
const nodesMax = 1000;

export interface RegexpList {
  /** The first that matches, by its place among the sources. */
  first(subject: string): Match | undefined | 'undecided';
}
export interface Match {
  index: number;
  /** What each group caught; group 0 is the whole match. */
  groups: readonly (string | undefined)[];
  named: Readonly<Record<string, string | undefined>>;
}

interface Regexp {
  match: Matcher;
  names: Map<string, number>;
}

/** What JavaScript understands, and of what nginx's users write besides: `(?i)` before all, `(?P<name>…)`, `\A` and `\z`. Undefined: not one that we run. */
export function readRegexp(source: string): Regexp | undefined {
  if (source.length > sourceCharactersMax) return undefined;
  const isCaseless = source.startsWith('(?i)');
  const body = (isCaseless ? source.slice(4) : source)
    .replaceAll('(?P<', '(?<')
    .replace(/^\\A/, '^')
    .replace(/(?<!\\)\\[zZ]$/, '$');
  if (!isRegexp(body)) return undefined;
  const tree = readRegexpTree(body);
  return tree && tree.nodes <= nodesMax ? { match: matcherOf(tree, isCaseless), names: tree.names } : undefined;
}

/** This only reads it; V8 compiles an expression when it is first run, which here never happens. */
function isRegexp(source: string): boolean {
  try {
    return new RegExp(source) instanceof RegExp;
  } catch {
    return false;
  }
}

/** Expressions are made ready when they are first asked, and in one look no more of them than there are steps for. */
export function regexpList(sources: readonly string[], unreadable: 'undecided' | 'passed over' = 'undecided'): RegexpList {
  const ready: (Regexp | undefined)[] = [];
  let restsUntil = 0;

  const look = (subject: string, budget: StepBudget): Match | undefined | 'undecided' => {
    for (let index = 0; index < sources.length; index += 1) {
      if (index === ready.length) {
        const source = sources[index] ?? '';
        budget.left -= source.length * stepsPerCharacter;
        if (budget.left < 0) return 'undecided';
        ready.push(readRegexp(source));
      }
      const regexp = ready[index];
      const groups = regexp?.match(subject, budget);
      if (regexp && groups) return matchOf(index, groups, regexp.names);
      if (!regexp && unreadable === 'undecided') return 'undecided';
    }
    return undefined;
  };

  const first: RegexpList['first'] = (subject) => {
    if (restsUntil > 0 && performance.now() < restsUntil) return 'undecided';
    try {
      return look(subject, { left: stepsMax });
    } catch (error) {
      // A RangeError means that the stack was nearly full before the look began.
      if (error !== outOfSteps && !(error instanceof RangeError)) throw error;
      restsUntil = performance.now() + restMilliseconds;
      return 'undecided';
    }
  };
  return { first };
}

const matchOf = (index: number, groups: (string | undefined)[], names: Map<string, number>): Match => ({
  index,
  groups,
  named: Object.fromEntries([...names].map(([name, group]) => [name, groups[group]])),
});
