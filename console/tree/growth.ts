/**
 * Where the shoots of a project's tree are drawn. Left to right is time, logarithmic, with now at the right: a shoot leaves its parent's line where its data
 * was taken, so its length is the age of its data. Each row draws its own slice of the tree, and therefore can have any height.
 *
 * Children come newest first, each followed by its own subtree; then no lines cross. Shoots of one age keep a small distance as long as there is room, and
 * run together where there is none. A child that is older than its parent's data leaves at the left end of the parent's line.
 */
export interface Shoot {
  id: string;
  parent: string | null;
  /** When its data was taken. */
  takenAt: number;
  /** Since when it rests: asleep, paused or inactive. */
  restsSince: number | undefined;
  /** Whether it has nothing that runs or could; such shoots come last. */
  isDormant: boolean;
  deployments: readonly { at: number; isFailed: boolean }[];
}

export interface Slice {
  id: string;
  depth: number;
  /** Shoots that pass this row on their way down, from left to right; of those that run together, one. */
  passing: readonly { id: string; x: number }[];
  /** Shoots that leave this row's line, and where. */
  leaving: readonly { id: string; from: number; x: number }[];
  /** Where its own shoot comes from above; undefined for a root. */
  arrivesAt: number | undefined;
  /** Where its line begins, and from where on it rests. */
  start: number;
  restsFrom: number | undefined;
  joints: readonly { x: number; isFailed: boolean }[];
}

export interface Measures {
  /** Where the lines end, at the tip. */
  end: number;
  /** How far a shoot goes to the right while it bends into its row. */
  bend: number;
  /** How far along its parent's line it begins to leave. */
  lead: number;
}

export const wide: Measures = { end: 200, bend: 22, lead: 16 };
export const narrow: Measures = { end: 50, bend: 8, lead: 5 };

const rootStart = 2;
const leadMin = 6;
const apart = 5;
/** For so many older siblings there is room kept at the left end. */
const olderMax = 6;
/** The scale always spans this ratio of ages: a tree of a month tells hours apart, and one of an hour tells seconds. */
const ratioOfAges = 2000;
const oldestAgeMin = 10 * 60_000;

export interface Scale {
  xOf(time: number): number;
  ticks: readonly { x: number; word: string }[];
}

const minute = 60_000;
const marks: readonly (readonly [age: number, word: string])[] = [
  [minute, '1 min'],
  [10 * minute, '10 min'],
  [60 * minute, '1 h'],
  [24 * 60 * minute, '1 d'],
  [7 * 24 * 60 * minute, '1 w'],
  [30 * 24 * 60 * minute, '1 mo'],
  [365 * 24 * 60 * minute, '1 y'],
];
const tickDistanceMin = 34;

/** From the oldest shoot at the left to now at the right. */
export function scaleOf(shoots: readonly Shoot[], now: number, { end, bend }: Measures): Scale {
  const oldest = Math.max(oldestAgeMin, ...shoots.filter(({ parent }) => parent !== null).map(({ takenAt }) => now - takenAt));
  const [left, right] = [rootStart + leadMin, end - bend];
  const youngest = oldest / ratioOfAges;
  const ofAge = (age: number) => {
    const share = Math.log(Math.max(age, youngest) / youngest) / Math.log(ratioOfAges);
    return right - Math.min(1, share) * (right - left);
  };
  const ticks: { x: number; word: string }[] = [];
  for (const [age, word] of marks) {
    const x = ofAge(age);
    const isInside = age >= youngest && age <= oldest * 1.05;
    if (isInside && x < end - tickDistanceMin && x < (ticks.at(-1)?.x ?? Number.POSITIVE_INFINITY) - tickDistanceMin)
      ticks.push({ x, word });
  }
  return { xOf: (time) => ofAge(now - time), ticks };
}

interface Placed extends Shoot {
  depth: number;
  row: number;
  x: number;
  start: number;
  children: Placed[];
}

export function grow(shoots: readonly Shoot[], scale: Scale, measures: Measures): Slice[] {
  const rows = inOrder(shoots);
  const roots = rows.filter(({ depth }) => depth === 0);
  const depthMax = Math.max(0, ...rows.map(({ depth }) => depth));
  /** A tree that is too deep for its width has tighter bends. */
  const tightness = Math.min(1, (measures.end - rootStart) / (depthMax * (measures.bend + leadMin)));
  const room = { end: measures.end, bend: measures.bend * tightness, lead: leadMin * tightness };
  for (const root of roots) {
    root.start = rootStart;
    placeChildren(root, scale, room);
  }
  const passing = passingOf(rows);
  return rows.map((placed) => sliceOf(placed, passing[placed.row] ?? [], scale, measures));
}

/** Depth first; the rows of a subtree follow one another. */
function inOrder(shoots: readonly Shoot[]): Placed[] {
  const ids = new Set(shoots.map(({ id }) => id));
  const childrenOf = Map.groupBy(shoots, ({ parent }) => (parent !== null && ids.has(parent) ? parent : null));
  const rows: Placed[] = [];
  const visit = (shoot: Shoot, depth: number): Placed => {
    const placed: Placed = { ...shoot, depth, row: rows.length, x: 0, start: 0, children: [] };
    rows.push(placed);
    placed.children = (childrenOf.get(shoot.id) ?? []).toSorted(newestFirst).map((child) => visit(child, depth + 1));
    return placed;
  };
  for (const root of childrenOf.get(null) ?? []) visit(root, 0);
  return rows;
}

const newestFirst = (one: Shoot, other: Shoot) =>
  Number(one.isDormant) - Number(other.isDormant) || other.takenAt - one.takenAt || one.id.localeCompare(other.id);

/** Each level below takes room for leaving and for bending; a shoot leaves that much to the right of it. */
function placeChildren(parent: Placed, scale: Scale, room: Measures) {
  let limit = Number.POSITIVE_INFINITY;
  for (const [n, child] of parent.children.entries()) {
    const rightmost = room.end - room.bend - (room.bend + room.lead) * heightOf(child);
    const older = Math.min(parent.children.length - 1 - n, olderMax);
    const leftmost = Math.min(parent.start + room.lead + older * apart, rightmost);
    child.x = Math.max(Math.min(scale.xOf(child.takenAt), rightmost, limit), leftmost);
    child.start = child.x + room.bend;
    limit = child.x - apart;
    placeChildren(child, scale, room);
  }
}

const heightOf = ({ children }: Placed): number => (children.length === 0 ? 0 : 1 + Math.max(...children.map(heightOf)));

/** For each row, the shoots that go past it: from below the row of their parent to above their own. */
function passingOf(rows: readonly Placed[]): { id: string; x: number }[][] {
  const passing = rows.map(() => new Map<number, { id: string; x: number }>());
  for (const parent of rows)
    for (const { id, x, row } of parent.children) for (let n = parent.row + 1; n < row; n += 1) passing[n]?.set(Math.round(x), { id, x });
  return passing.map((each) => [...each.values()].toSorted((one, other) => one.x - other.x));
}

function sliceOf(placed: Placed, passing: Slice['passing'], scale: Scale, { end, lead }: Measures): Slice {
  const { id, depth, x, start, children, restsSince } = placed;
  const inside = (time: number) => Math.min(Math.max(scale.xOf(time), start), end);
  return {
    id,
    depth,
    passing,
    leaving: children.map((child) => ({ id: child.id, from: Math.max(start, child.x - lead), x: child.x })),
    arrivesAt: depth === 0 ? undefined : x,
    start,
    restsFrom: restsSince === undefined ? undefined : inside(restsSince),
    joints: placed.deployments
      .map(({ at, isFailed }) => ({ x: scale.xOf(at), isFailed }))
      .filter((joint) => joint.x > start + apart && joint.x < end - apart * 2),
  };
}
