/** What a regular expression says, as a tree. Only expressions that V8 itself accepts come here, so that nothing needs to be complained about. */
export type RegexpNode =
  | { kind: 'character'; text: string }
  | { kind: 'assertion'; of: '^' | '$' | '\\b' | '\\B' }
  | { kind: 'sequence'; parts: RegexpNode[] }
  | { kind: 'alternatives'; branches: RegexpNode[] }
  | { kind: 'group'; group: number; inside: RegexpNode }
  | { kind: 'look'; isBehind: boolean; isNegative: boolean; inside: RegexpNode }
  /** `groups` are the numbers of the groups inside: the first, and the one after the last. */
  | { kind: 'repeat'; min: number; max: number; isLazy: boolean; inside: RegexpNode; groups: [from: number, to: number] }
  | { kind: 'back'; group: number };

export interface RegexpTree {
  root: RegexpNode;
  groups: number;
  names: Map<string, number>;
  nodes: number;
}

interface Reader extends RegexpTree {
  source: string;
  at: number;
  groupsInAll: number;
  depth: number;
}

/** How deep groups may be nested: each level is a few frames on the stack. */
const depthMax = 100;
const groupOpening = /\((?:\?(?::|<?[=!]|<([A-Za-z_$][\w$]*)>))?/y;
const characterText = /\[(?:[^\]\\]|\\[^])*\]|\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|c[a-z]|[^])|[^]/iy;
const quantifierText = /(?:([*+?])|\{(\d+)(,?)(\d*)\})(\??)/y;

/** Undefined: something that is seldom used and that we do not run (flags inside, octal numbers). */
export function readRegexpTree(source: string): RegexpTree | undefined {
  const groupsInAll = [...source.matchAll(/\[(?:[^\]\\]|\\[^])*\]|\\[^]|\((?!\?)|\(\?<(?![=!])/g)].filter(([token]) =>
    token.startsWith('('),
  ).length;
  const reader: Reader = {
    source,
    at: 0,
    groupsInAll,
    groups: 1,
    names: new Map(),
    nodes: 0,
    depth: 0,
    root: { kind: 'sequence', parts: [] },
  };
  const root = readAlternatives(reader);
  return root && reader.at === source.length ? { root, groups: reader.groups, names: reader.names, nodes: reader.nodes } : undefined;
}

function readAlternatives(reader: Reader): RegexpNode | undefined {
  const branches: RegexpNode[] = [];
  do {
    if (branches.length > 0) reader.at += 1;
    const branch = readSequence(reader);
    if (!branch) return undefined;
    branches.push(branch);
  } while (reader.source[reader.at] === '|');
  const [only] = branches;
  return branches.length === 1 ? only : { kind: 'alternatives', branches };
}

function readSequence(reader: Reader): RegexpNode | undefined {
  const parts: RegexpNode[] = [];
  while (reader.at < reader.source.length && !'|)'.includes(reader.source[reader.at] ?? '')) {
    const part = readRepeated(reader);
    if (!part) return undefined;
    parts.push(part);
  }
  return { kind: 'sequence', parts };
}

function readRepeated(reader: Reader): RegexpNode | undefined {
  const from = reader.groups;
  const inside = readPart(reader);
  const found = inside && take(reader, quantifierText);
  if (!found) return inside;
  const [, sign, least = '', comma, most = '', lazy] = found;
  const min = sign === undefined ? Number(least) : sign === '+' ? 1 : 0;
  const max =
    sign === '?' ? 1 : sign !== undefined || (comma !== '' && most === '') ? Number.POSITIVE_INFINITY : Number(comma === '' ? least : most);
  return { kind: 'repeat', min, max, isLazy: lazy === '?', inside, groups: [from, reader.groups] };
}

function readPart(reader: Reader): RegexpNode | undefined {
  reader.nodes += 1;
  if (reader.source[reader.at] === '(') return readGroup(reader);
  const assertion = take(reader, /[\^$]|\\[bB]/y)?.[0];
  if (assertion === '^' || assertion === '$' || assertion === '\\b' || assertion === '\\B') return { kind: 'assertion', of: assertion };
  const number = take(reader, /\\([1-9]\d*)/y)?.[1];
  if (number !== undefined) return Number(number) <= reader.groupsInAll ? { kind: 'back', group: Number(number) } : undefined;
  const name = reader.source.includes('(?<') ? take(reader, /\\k<([^>]*)>/y)?.[1] : undefined;
  if (name !== undefined) return reader.names.has(name) ? { kind: 'back', group: reader.names.get(name) ?? 0 } : undefined;
  const text = take(reader, characterText)?.[0];
  return text === undefined || /^\\0\d|^\\c?$|^\\c[^a-z]/i.test(text) ? undefined : { kind: 'character', text };
}

function readGroup(reader: Reader): RegexpNode | undefined {
  if (reader.depth === depthMax) return undefined;
  const [opening = '', name] = take(reader, groupOpening) ?? [];
  const isCapturing = opening === '(' || name !== undefined;
  const group = reader.groups;
  if (isCapturing) reader.groups += 1;
  if (name !== undefined) reader.names.set(name, group);
  reader.depth += 1;
  const inside = opening === '(' && reader.source[reader.at] === '?' ? undefined : readAlternatives(reader);
  reader.depth -= 1;
  if (!inside || reader.source[reader.at] !== ')') return undefined;
  reader.at += 1;
  if (isCapturing) return { kind: 'group', group, inside };
  return /[=!]$/.test(opening) ? { kind: 'look', isBehind: opening.includes('<'), isNegative: opening.endsWith('!'), inside } : inside;
}

function take(reader: Reader, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.source) ?? undefined;
  if (found) reader.at = pattern.lastIndex;
  return found;
}
