/**
 * A value of a configuration file with its place in it: YAML without its syntax. Aliases, merges and includes are resolved; what several places
 * share is one node, and `size` counts it for each of them, so that whoever goes through a tree of bounded size is done in bounded time.
 */
export interface SourceFile {
  path: string;
  lines: { linePos(offset: number): { line: number; col: number } };
}

export interface Spot {
  file: SourceFile;
  /** Characters from the beginning of the file. */
  offset: number;
}

interface NodeBase {
  at: Spot;
  size: number;
  depth: number;
}

export interface MapNode extends NodeBase {
  kind: 'map';
  entries: ReadonlyMap<string, Entry>;
  /** Keys that begin with a dot; they are ignored. */
  dotted: readonly { key: string; at: Spot }[];
}

export interface Entry {
  /** The place of the key. */
  at: Spot;
  node: Node;
}

export interface ListNode extends NodeBase {
  kind: 'list';
  items: readonly Node[];
}

export interface ScalarNode extends NodeBase {
  kind: 'scalar';
  value: null | boolean | number | string;
  /** The value as written: 1.10 is not 1.1. */
  text: string;
}

export type Node = MapNode | ListNode | ScalarNode;

export const scalarAt = (at: Spot, value: ScalarNode['value'], text = String(value)): ScalarNode => ({
  kind: 'scalar',
  at,
  value,
  text,
  size: 1,
  depth: 1,
});

export const listAt = (at: Spot, items: readonly Node[]): ListNode => ({ kind: 'list', at, items, ...extentOf(items) });

export const mapAt = (at: Spot, entries: ReadonlyMap<string, Entry>, dotted: MapNode['dotted'] = []): MapNode => ({
  kind: 'map',
  at,
  entries,
  dotted,
  ...extentOf([...entries.values()].map(({ node }) => node)),
});

function extentOf(children: readonly Node[]) {
  let size = 1;
  let depth = 0;
  for (const child of children) {
    size += child.size;
    depth = Math.max(depth, child.depth);
  }
  return { size, depth: depth + 1 };
}

export function positionOf({ file, offset }: Spot) {
  const { line, col } = file.lines.linePos(offset);
  return { file: file.path, line: Math.max(line, 1), column: Math.max(col, 1) };
}

export const isNull = (node: Node): boolean => node.kind === 'scalar' && node.value === null;

/** The node that a message about an entry of a map points at. */
export const childOf = (node: Node, key: string): Node => (node.kind === 'map' ? node.entries.get(key)?.node : undefined) ?? node;

/** Whether a key has a value, right or wrong. */
export const isSaid = (node: Node, key: string): boolean => {
  const entry = node.kind === 'map' ? node.entries.get(key) : undefined;
  return entry !== undefined && !isNull(entry.node);
};
