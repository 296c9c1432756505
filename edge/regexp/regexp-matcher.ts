/**
 * Runs a regular expression step by step, and counts the steps. It finds what V8 finds (a test compares the two), but it can be told when to stop,
 * which V8 cannot while it compiles, and compiling alone can take V8 seconds for expressions of a line. Each part of the expression is a function that
 * goes on with the part after it and answers where the match ends, or that there is none.
 */
import { buildCharacter, buildRun, characterTest } from './regexp-characters.ts';
import { outOfSteps, type Part, type Run, spend, type StepBudget } from './regexp-run.ts';
import type { RegexpNode, RegexpTree } from './regexp-syntax.ts';

/** Each level is a handful of frames on the stack. */
const depthMax = 1000;

export type Matcher = (input: string, budget: StepBudget) => (string | undefined)[] | undefined;

export function matcherOf({ root, groups }: RegexpTree, isCaseless: boolean): Matcher {
  const building: Building = { isCaseless, loops: 0 };
  const part = build(root, (_, at) => at, building);
  const startAfter = startsOf(root);
  // One run serves all looks, which come one after the other: making a new one would take longer than most looks.
  const run: Run = {
    input: '',
    budget: { left: 0 },
    depth: 0,
    openings: new Int32Array(groups),
    starts: new Int32Array(groups),
    ends: new Int32Array(groups),
    counts: new Int32Array(building.loops),
    lasts: new Int32Array(building.loops),
    target: -1,
  };
  return (input, budget) => {
    run.input = input;
    run.budget = budget;
    run.depth = 0;
    run.starts.fill(-1);
    for (let start = 0; start >= 0 && start <= input.length; start = startAfter(input, start)) {
      spend(run, 1);
      const end = part(run, start);
      if (end >= 0) return caught(run, start, end);
    }
    return undefined;
  };
}

function caught({ input, starts, ends }: Run, start: number, end: number): (string | undefined)[] {
  const texts: (string | undefined)[] = [input.slice(start, end)];
  for (let group = 1; group < starts.length; group += 1)
    texts.push((starts[group] ?? -1) < 0 ? undefined : input.slice(starts[group], ends[group]));
  return texts;
}

/** Where to try next: nowhere for `^`, in the next line for `.*` (from within a line it finds no more than from its start), else one on. */
function startsOf(root: RegexpNode): (input: string, start: number) => number {
  const first = firstIn(root);
  if (first?.kind === 'assertion' && first.of === '^') return () => -1;
  const isLine =
    first?.kind === 'repeat' &&
    first.inside.kind === 'character' &&
    first.inside.text === '.' &&
    first.min === 0 &&
    first.max === Number.POSITIVE_INFINITY;
  if (!isLine || refersBack(root)) return (_, start) => start + 1;
  return (input, start) => {
    const end = input.slice(start).search(/[\n\r\u2028\u2029]/);
    return end === -1 ? -1 : start + end + 1;
  };
}

const firstIn = (node: RegexpNode): RegexpNode | undefined => {
  const inside = node.kind === 'sequence' ? node.parts[0] : node.kind === 'group' ? node.inside : undefined;
  return inside === undefined ? (node.kind === 'sequence' ? undefined : node) : firstIn(inside);
};

const refersBack = (node: RegexpNode): boolean => {
  if (node.kind === 'sequence') return node.parts.some(refersBack);
  if (node.kind === 'alternatives') return node.branches.some(refersBack);
  return node.kind === 'back' || ('inside' in node && refersBack(node.inside));
};

interface Building {
  isCaseless: boolean;
  loops: number;
}

function build(node: RegexpNode, next: Part, building: Building): Part {
  switch (node.kind) {
    case 'character':
      return buildCharacter(characterTest(node.text, building.isCaseless), next);
    case 'assertion':
      return buildAssertion(node.of, next);
    case 'sequence':
      return node.parts.reduceRight((after, part) => build(part, after, building), next);
    case 'alternatives':
      return buildAlternatives(node.branches.map((branch) => build(branch, next, building)));
    case 'group':
      return buildGroup(node, next, building);
    case 'look':
      return buildLook(node, next, building);
    case 'repeat':
      return node.inside.kind === 'character'
        ? buildRun(node, characterTest(node.inside.text, building.isCaseless), next)
        : buildRepeat(node, next, building);
    case 'back':
      return buildBack(node.group, next, building);
  }
}

const isWord = (input: string, at: number) => at >= 0 && at < input.length && /\w/.test(input.charAt(at));

function buildAssertion(of: '^' | '$' | '\\b' | '\\B', next: Part): Part {
  const holds = {
    '^': (_: string, at: number) => at === 0,
    $: (input: string, at: number) => at === input.length,
    '\\b': (input: string, at: number) => isWord(input, at - 1) !== isWord(input, at),
    '\\B': (input: string, at: number) => isWord(input, at - 1) === isWord(input, at),
  }[of];
  return (run, at) => (holds(run.input, at) ? next(run, at) : -1);
}

function buildAlternatives(branches: Part[]): Part {
  return (run, at) => {
    for (const branch of branches) {
      spend(run, 1);
      const end = branch(run, at);
      if (end >= 0) return end;
    }
    return -1;
  };
}

function buildGroup({ group, inside }: { group: number; inside: RegexpNode }, next: Part, building: Building): Part {
  const close: Part = (run, at) => {
    const start = run.starts[group] ?? -1;
    const end = run.ends[group] ?? -1;
    run.starts[group] = run.openings[group] ?? -1;
    run.ends[group] = at;
    const result = next(run, at);
    if (result < 0) {
      run.starts[group] = start;
      run.ends[group] = end;
    }
    return result;
  };
  const body = build(inside, close, building);
  return (run, at) => {
    const opening = run.openings[group] ?? -1;
    run.openings[group] = at;
    const result = body(run, at);
    if (result < 0) run.openings[group] = opening;
    return result;
  };
}

/** What a lookaround caught stays; what it tried does not. */
function buildLook({ isBehind, isNegative, inside }: Extract<RegexpNode, { kind: 'look' }>, next: Part, building: Building): Part {
  const ahead = build(inside, isBehind ? (run, at) => (at === run.target ? at : -1) : (_, at) => at, building);
  const isFound = isBehind ? behind(ahead, widthOf(inside)) : (run: Run, at: number) => ahead(run, at) >= 0;
  return (run, at) => {
    spend(run, 1 + run.starts.length);
    const starts = run.starts.slice();
    const ends = run.ends.slice();
    const found = isFound(run, at);
    const result = found === isNegative ? -1 : isNegative ? nextWith(run, at, next, starts, ends) : next(run, at);
    if (result < 0) {
      run.starts = starts;
      run.ends = ends;
    }
    return result;
  };
}

function nextWith(run: Run, at: number, next: Part, starts: Int32Array, ends: Int32Array): number {
  run.starts = starts.slice();
  run.ends = ends.slice();
  return next(run, at);
}

/** Tries the part from each position that is no further back than the part may be long. */
function behind(part: Part, [min, max]: [number, number]) {
  return (run: Run, at: number): boolean => {
    const { target } = run;
    run.target = at;
    const startMin = Math.max(at - max, 0);
    let start = at - min;
    while (start >= startMin && part(run, start) < 0) {
      spend(run, 1);
      start -= 1;
    }
    run.target = target;
    return start >= startMin;
  };
}

/** How many characters it takes, at least and at most. */
function widthOf(node: RegexpNode): [min: number, max: number] {
  if (node.kind === 'character') return [1, 1];
  if (node.kind === 'assertion' || node.kind === 'look') return [0, 0];
  if (node.kind === 'back') return [0, Number.POSITIVE_INFINITY];
  if (node.kind === 'group') return widthOf(node.inside);
  if (node.kind === 'sequence')
    return node.parts.map(widthOf).reduce<[number, number]>((sum, width) => [sum[0] + width[0], sum[1] + width[1]], [0, 0]);
  if (node.kind === 'alternatives') {
    const widths = node.branches.map(widthOf);
    return [Math.min(...widths.map(([min]) => min)), Math.max(...widths.map(([, max]) => max))];
  }
  const [min, max] = widthOf(node.inside);
  return [min * node.min, max === 0 ? 0 : max * node.max];
}

function buildRepeat(
  { min, max, isLazy, inside, groups: [from, to] }: Extract<RegexpNode, { kind: 'repeat' }>,
  next: Part,
  building: Building,
): Part {
  const id = building.loops;
  building.loops += 1;
  const weight = weightOf(inside);
  // With each round, what was caught inside is forgotten.
  const round = (run: Run, at: number, count: number, last: number): number => {
    if (count >= max) return -1;
    const starts = from < to ? forget(run, from, to) : undefined;
    run.counts[id] = count + 1;
    run.lasts[id] = at;
    run.depth += weight;
    if (run.depth > depthMax) throw outOfSteps;
    const end = body(run, at);
    run.depth -= weight;
    if (end < 0) {
      run.counts[id] = count;
      run.lasts[id] = last;
      if (starts) for (let group = from; group < to; group += 1) run.starts[group] = starts[group - from] ?? -1;
    }
    return end;
  };
  const again: Part = (run, at) => {
    spend(run, 1);
    const count = run.counts[id] ?? 0;
    const last = run.lasts[id] ?? -1;
    // A round that took nothing, and that was not asked for, leads nowhere.
    if (count > min && at === last) return -1;
    if (count < min) return round(run, at, count, last);
    const end = isLazy ? next(run, at) : round(run, at, count, last);
    if (end >= 0) return end;
    return isLazy ? round(run, at, count, last) : next(run, at);
  };
  const body = build(inside, again, building);
  return (run, at) => {
    const count = run.counts[id] ?? 0;
    const last = run.lasts[id] ?? -1;
    run.counts[id] = 0;
    run.lasts[id] = -1;
    const end = again(run, at);
    if (end < 0) {
      run.counts[id] = count;
      run.lasts[id] = last;
    }
    return end;
  };
}

/** Where a group ended is only looked at where it has started, so the ends may stay. */
function forget(run: Run, from: number, to: number): Int32Array {
  spend(run, to - from);
  const starts = run.starts.slice(from, to);
  run.starts.fill(-1, from, to);
  return starts;
}

const weightOf = (node: RegexpNode): number => {
  if (node.kind === 'sequence') return node.parts.reduce((sum, part) => sum + weightOf(part), 1);
  if (node.kind === 'alternatives') return Math.max(...node.branches.map(weightOf)) + 1;
  return node.kind === 'group' || node.kind === 'look' || node.kind === 'repeat' ? weightOf(node.inside) + 3 : 1;
};

/** A reference to a group that caught nothing always matches. */
function buildBack(group: number, next: Part, { isCaseless }: Building): Part {
  const fold = (text: string) => (isCaseless ? text.toLowerCase() : text);
  return (run, at) => {
    const start = run.starts[group] ?? -1;
    const text = start < 0 ? '' : run.input.slice(start, run.ends[group]);
    spend(run, text.length + 1);
    return fold(run.input.slice(at, at + text.length)) === fold(text) ? next(run, at + text.length) : -1;
  };
}
