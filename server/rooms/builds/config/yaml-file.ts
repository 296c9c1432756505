/**
 * YAML 1.2 into nodes. Hostile files cost a bounded amount: of bytes (the parser takes about a second for a megabyte), of nodes after aliases
 * are followed, and of depth. Keys are unique, and checked here because the parser's own check takes the square of their number.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node as YamlNode, parseAllDocuments, type YAMLMap } from 'yaml';
import { quoted, type Report } from './message.ts';
import { type Entry, listAt, type MapNode, mapAt, type Node, type ScalarNode, scalarAt, type SourceFile, type Spot } from './node.ts';

const nodesMax = 500_000;
const depthMax = 50;
const keyCharactersMax = 2000;
const syntaxErrorsMax = 10;

export interface YamlFile {
  source: SourceFile;
  contents: YamlNode | null;
}

/** The nodes that replace YAML nodes with the tags `!include` and `!archive`. */
export type Replacements = ReadonlyMap<YamlNode, Node>;

/** Undefined where the file is not YAML; that is reported. */
export function parseFile(path: string, bytes: Buffer, report: Report): YamlFile | undefined {
  const lineCounter = new LineCounter();
  const source: SourceFile = { path, lines: lineCounter };
  const text = bytes.toString('utf8');
  if (text.includes('\ufffd') && !bytes.equals(Buffer.from(text))) {
    report.error({ file: source, offset: 0 }, '', 'The file is not text in UTF-8.');
    return undefined;
  }
  const options = { version: '1.2', uniqueKeys: false, prettyErrors: false, logLevel: 'silent', lineCounter } as const;
  const documents: Document.Parsed[] = [...parseAllDocuments(text, options)];
  const [document, second] = documents;
  if (second) {
    report.error({ file: source, offset: second.range[0] }, '', 'Found a second document, expected one in each file.');
    return undefined;
  }
  const errors = document?.errors ?? [];
  for (const { pos, code, message } of errors.slice(0, syntaxErrorsMax)) {
    report.error({ file: source, offset: pos[0] }, '', code === 'RESOURCE_EXHAUSTION' ? tooDeep : `This is not YAML: ${sentence(message)}`);
  }
  return errors.length > 0 ? undefined : { source, contents: document?.contents ?? null };
}

const tooDeep = `Found more than ${depthMax} levels, expected fewer.`;
const sentence = (message: string) => (/[.!?]$/.test(message) ? message : `${message}.`);

/** Undefined where the file is too large or too deep, by itself or with all that it includes; that is reported. */
export function nodeOf({ source, contents }: YamlFile, replacements: Replacements, report: Report): Node | undefined {
  const start: Spot = { file: source, offset: 0 };
  if (!contents) return scalarAt(start, null, '');
  const node = converter(source, replacements, report)(contents, 1);
  if (node.size > nodesMax) report.error(start, '', `Found ${node.size} values with all repetitions, expected ${nodesMax} at most.`);
  else if (node.depth > depthMax) report.error(start, '', tooDeep);
  else return node;
  return undefined;
}

const coreTag = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/;

function converter(file: SourceFile, replacements: Replacements, report: Report) {
  /** Anchors are collected in the order of the file, because a later anchor of the same name replaces an earlier one. */
  const anchors = new Map<string, Node>();
  let entriesMerged = 0;
  const spotOf = (node: YamlNode | null | undefined): Spot => ({ file, offset: node?.range?.[0] ?? 0 });
  const complain = (node: YamlNode | null | undefined, message: string): Node => {
    report.error(spotOf(node), '', message);
    return scalarAt(spotOf(node), null, '');
  };

  function convert(node: YamlNode | null, level: number, at = spotOf(node)): Node {
    if (!node) return scalarAt(at, null, '');
    if (level > depthMax) return complain(node, tooDeep);
    if (isAlias(node)) {
      return anchors.get(node.source) ?? complain(node, `Found *${node.source.slice(0, 40)}, expected an anchor that is defined above.`);
    }
    const converted = replacements.get(node) ?? untagged(node, level, at);
    if ('anchor' in node && typeof node.anchor === 'string') anchors.set(node.anchor, converted);
    return converted;
  }

  function untagged(node: YamlNode, level: number, at: Spot): Node {
    if (node.tag !== undefined && node.tag !== '!' && !coreTag.test(node.tag)) {
      return complain(node, `Found the tag ${quoted(node.tag)}, expected !include, !archive or none.`);
    }
    if (isMap<YamlNode, YamlNode | null>(node)) return map(node, level, at);
    if (isSeq<YamlNode>(node))
      return listAt(
        at,
        node.items.map((item) => convert(item, level + 1)),
      );
    return isScalar(node)
      ? scalar(node.value, node.source ?? '', at)
      : complain(node, 'Found something that is neither a map, a list nor a value.');
  }

  function scalar(value: unknown, text: string, at: Spot): Node {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return scalarAt(at, value, text);
    if (typeof value === 'number' && Number.isFinite(value)) return scalarAt(at, value, text);
    report.error(at, '', `Found ${quoted(text)}, expected a finite number.`);
    return scalarAt(at, null, '');
  }

  function map({ items }: YAMLMap<YamlNode, YamlNode | null>, level: number, at: Spot): MapNode {
    const entries = new Map<string, Entry>();
    const merged: Node[] = [];
    const dotted: { key: string; at: Spot }[] = [];
    for (const { key, value } of items) {
      const name = convert(key, level + 1);
      // What is wrong with a map or a list is shown at the key that it belongs to.
      const node = convert(value, level + 1, isScalar(value) && value.source !== '' ? undefined : name.at);
      const text = name.kind === 'scalar' && name.value !== null ? name.text : undefined;
      if (text === undefined) complain(key, 'Found a key that is not text, expected text.');
      else if (text.length > keyCharactersMax)
        complain(key, `Found a key of ${text.length} characters, expected ${keyCharactersMax} at most.`);
      else if (text === '<<' && isScalar(key) && key.type === 'PLAIN') merged.push(...(node.kind === 'list' ? node.items : [node]));
      else if (text.startsWith('.')) dotted.push({ key: text, at: name.at });
      else if (entries.has(text)) complain(key, `Found the key ${quoted(text)} a second time, expected it once.`);
      else entries.set(text, { at: name.at, node });
    }
    for (const node of merged) merge(entries, node);
    return mapAt(at, entries, dotted);
  }

  /** Keys of the map itself take precedence over merged ones; of several merged maps, the first takes precedence. */
  function merge(own: Map<string, Entry>, from: Node) {
    if (from.kind !== 'map') report.error(from.at, '', `Found ${kindOf(from)} to merge, expected a map.`);
    else if ((entriesMerged += from.entries.size) > nodesMax)
      report.error(from.at, '', `Found more than ${nodesMax} merged keys, expected fewer.`);
    else for (const [key, entry] of from.entries) if (!own.has(key)) own.set(key, entry);
  }

  return convert;
}

/** `a list`, `the text "abc"`: what a message says was found. */
export function kindOf(node: Node): string {
  if (node.kind === 'scalar') return scalarKind(node);
  const length = node.kind === 'map' ? node.entries.size : node.items.length;
  return `${length === 0 ? 'an empty' : 'a'} ${node.kind}`;
}

function scalarKind({ value }: ScalarNode): string {
  if (value === null) return 'nothing';
  if (value === '') return 'an empty text';
  return typeof value === 'string' ? `the text ${quoted(value)}` : String(value);
}
