/**
 * How large a tree is when it is written into a folder. A few folders that hold each other again and again stand for thousands of millions of
 * files, and a few kilobytes for gigabytes: so nothing is written, and no list of all files made, before it is known to be within bounds.
 *
 * Each distinct tree is read once, level by level, and each distinct file is only asked for its size. What a tree comes to depends on its id alone, so it
 * is remembered: of a push to a branch that was looked at before, only the folders that changed are read.
 */
import { fairLimit, withReserve } from '../../kernel/fair-limit.ts';
import { Problem } from '../../kernel/problem.ts';
import { TooMuchOutput } from './command.ts';
import type { TreeEntry } from './git.ts';
import { askObjects, type ObjectQuestions, type Where } from './ask-objects.ts';
import { parseTree } from './parse-object.ts';

export interface TreeSize {
  /** Files and folders in it, however deep. Sums that are beyond all bounds are infinite. */
  entries: number;
  bytes: number;
  /** How deep folders are nested. */
  depth: number;
  /** The length of the longest path. */
  pathBytes: number;
}

/** Half of what a build has for its files and what it makes of them. */
const bytesMax = 4 * 1024 ** 3;
const entriesMax = 500_000;
const depthMax = 200;
/** As much as Linux allows, less what the path of the folder around it may need. */
const pathBytesMax = 3500;

const bounds: Record<keyof TreeSize, { most: number; words: string }> = {
  entries: { most: entriesMax, words: `more than ${entriesMax.toLocaleString('en')} files and folders` },
  bytes: { most: bytesMax, words: `files of more than ${bytesMax / 1024 ** 3} GiB together` },
  depth: { most: depthMax, words: `more than ${depthMax} folders in each other` },
  pathBytes: { most: pathBytesMax, words: `a path of more than ${pathBytesMax.toLocaleString('en')} bytes` },
};

/** A commit or tree; what is neither has no files. `what` is what to call it: `The branch main`. Throws a Problem. */
export async function refuseLarge(what: string, gitDir: string, name: string, where: Where = {}): Promise<void> {
  const size = await sizeOfTree(gitDir, name, where);
  if (size) refuseLargeTree(what, size);
}

/** Throws a Problem. */
export function refuseLargeTree(what: string, size: TreeSize) {
  for (const [measure, { most, words }] of Object.entries(bounds) as [keyof TreeSize, (typeof bounds)[keyof TreeSize]][])
    if (size[measure] > most) throw new Problem('too-large', `${what} has ${words}, which is more than what can be deployed here.`);
}

/** The size of several trees side by side in one folder. */
export const togetherOf = (sizes: readonly TreeSize[]): TreeSize => ({
  entries: sizes.reduce((sum, { entries }) => sum + entries, 0),
  bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
  depth: Math.max(0, ...sizes.map(({ depth }) => depth)),
  pathBytes: Math.max(0, ...sizes.map(({ pathBytes }) => pathBytes)),
});

const none: TreeSize = { entries: 0, bytes: 0, depth: 0, pathBytes: 0 };

const rememberedMax = 50_000;
/** Sizes by the id of the tree. */
const remembered = new Map<string, TreeSize>();

const checksOfOneMax = 2;
const checks = fairLimit(withReserve(checksOfOneMax));

/** The size of a commit or a tree. Undefined: it is neither. */
export const sizeOfTree = (gitDir: string, name: string, where: Where = {}): Promise<TreeSize | undefined> =>
  checks.within({ parties: where.parties ?? [gitDir], part: gitDir }, () =>
    askObjects(gitDir, where, async (questions) => {
      const [root] = await questions.info([`${name}^{tree}`]);
      if (root?.type !== 'tree') return undefined;
      const walk: Walk = { trees: new Map(), blobs: new Map(), sizes: new Map() };
      const beyond = await readTrees(questions, root.id, walk);
      if (beyond) return beyond;
      for (const { id, size } of await questions.info([...walk.blobs.keys()])) walk.blobs.set(id, size);
      addUp(root.id, walk);
      return remember(root.id, walk);
    }),
  );

interface Walk {
  /** The trees whose sizes are not remembered. */
  trees: Map<string, readonly TreeEntry[]>;
  blobs: Map<string, number>;
  sizes: Map<string, TreeSize>;
}

/** Answers a size at once where that is beyond all bounds, and reading on is not worth it. */
async function readTrees(questions: ObjectQuestions, root: string, { trees, blobs, sizes }: Walk): Promise<TreeSize | undefined> {
  let entries = 0;
  let level = new Set<string>();
  const meet = (id: string) => {
    const known = remembered.get(id);
    if (known) sizes.set(id, known);
    else if (!trees.has(id)) level.add(id);
  };
  meet(root);
  for (let depth = 0; level.size > 0; depth++) {
    if (depth > depthMax) return { ...none, depth };
    const read = await treesOf(questions, [...level]);
    if (!read) return { ...none, entries: Infinity };
    for (const [id, found] of read) {
      trees.set(id, found);
      entries += found.length;
    }
    if (entries > entriesMax) return { ...none, entries };
    level = new Set();
    for (const { type, sha } of [...read.values()].flat()) {
      if (type === 'tree') meet(sha);
      if (type === 'blob') blobs.set(sha, 0);
    }
  }
  return undefined;
}

const levelBytesMax = 64 * 1024 ** 2;

/** Undefined: together the trees are larger than anything that is allowed. */
async function treesOf(questions: ObjectQuestions, ids: readonly string[]): Promise<Map<string, TreeEntry[]> | undefined> {
  try {
    const found = await questions.contents(ids, levelBytesMax);
    return new Map(found.map(({ id, content }) => [id, parseTree(content)]));
  } catch (error) {
    if (error instanceof TooMuchOutput) return undefined;
    throw error;
  }
}

/** Adds up folders after what is in them; without recursion, as they may be nested deeper than the stack allows. */
function addUp(root: string, { trees, blobs, sizes }: Walk) {
  const waiting = [root];
  for (let tree = waiting.at(-1); tree !== undefined; tree = waiting.at(-1)) {
    const entries = sizes.has(tree) ? [] : (trees.get(tree) ?? []);
    const unknown = entries.filter(({ type, sha }) => type === 'tree' && !sizes.has(sha));
    for (const { sha } of unknown) waiting.push(sha);
    if (unknown.length > 0) continue;
    waiting.pop();
    if (!sizes.has(tree)) sizes.set(tree, sumOf(entries, blobs, sizes));
  }
}

function sumOf(entries: readonly TreeEntry[], blobs: ReadonlyMap<string, number>, sizes: ReadonlyMap<string, TreeSize>): TreeSize {
  const sum: TreeSize = { ...none, entries: entries.length };
  for (const { sha, path } of entries) {
    const inside = sizes.get(sha);
    const nameBytes = Buffer.byteLength(path);
    sum.entries += inside?.entries ?? 0;
    sum.bytes += inside?.bytes ?? blobs.get(sha) ?? 0;
    sum.depth = Math.max(sum.depth, inside ? inside.depth + 1 : 0);
    sum.pathBytes = Math.max(sum.pathBytes, inside && inside.pathBytes > 0 ? nameBytes + 1 + inside.pathBytes : nameBytes);
  }
  return sum;
}

/** Remembers sizes; the oldest make room. */
function remember(root: string, { sizes }: Walk): TreeSize | undefined {
  for (const [id, size] of sizes) {
    remembered.delete(id);
    remembered.set(id, size);
  }
  for (const id of remembered.keys()) {
    if (remembered.size <= rememberedMax) break;
    remembered.delete(id);
  }
  return sizes.get(root);
}
