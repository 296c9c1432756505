/**
 * Keeps of a published OpenAPI document what our replies are held to: the schemas of the GET replies that are built, without prose. Run by hand when the
 * published document has changed: `node server/testing/keep-published-schemas.ts <document>`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { operationsOf } from '../kernel/room.ts';
import { rooms } from '../rooms.ts';

interface Schema {
  [keyword: string]: unknown;
}

interface Document {
  paths: Record<string, { get?: { responses: Record<string, { content?: Record<string, { schema: Schema }> }> } }>;
  components: { schemas: Record<string, Schema> };
}

const [, , source = ''] = process.argv;
const document = JSON.parse(readFileSync(source, 'utf8')) as Document;
/** The two documents name path parameters differently. */
const nameless = (path: string) => path.replaceAll(/{\w+}/g, '{}');
const published = new Map(Object.entries(document.paths).map(([path, item]) => [nameless(path), item.get]));

const replies: Record<string, Schema> = {};
for (const { method, path } of operationsOf(rooms)) {
  const responses = method === 'GET' ? published.get(nameless(path))?.responses : undefined;
  const schema = (responses?.['200'] ?? responses?.['default'])?.content?.['application/json']?.schema;
  if (schema) replies[path] = asJsonSchema(schema);
}

const definitions: Record<string, Schema> = {};
/** A definition may need others, which are then met further on in the same walk. */
const needed = [...new Set(namesIn(replies))];
for (const name of needed) {
  const definition = withLinks(asJsonSchema(document.components.schemas[name] ?? {}));
  definitions[name] = definition;
  needed.push(...namesIn(definition).filter((other) => !needed.includes(other)));
}

const lines = (schemas: Record<string, Schema>) =>
  Object.keys(schemas)
    .sort()
    .map((name) => `    ${JSON.stringify(name)}: ${JSON.stringify(schemas[name])}`)
    .join(',\n');
writeFileSync(
  new URL('published-schemas.json', import.meta.url),
  `{\n  "replies": {\n${lines(replies)}\n  },\n  "$defs": {\n${lines(definitions)}\n  }\n}\n`,
);

function namesIn(schemas: unknown): string[] {
  return [...new Set([...JSON.stringify(schemas).matchAll(/"#\/\$defs\/(\w+)"/g)].map(([, name = '']) => name))];
}

/** OpenAPI 3.0 says `nullable` where JSON Schema has a type of that name. */
function asJsonSchema(schema: Schema): Schema {
  const { nullable, title: _title, description: _description, default: _default, deprecated: _deprecated, ...kept } = schema;
  if (typeof kept['$ref'] === 'string') return { $ref: kept['$ref'].replace('#/components/schemas/', '#/$defs/') };
  const plain = Object.fromEntries(Object.entries(kept).map(([keyword, value]) => [keyword, inner(keyword, value)]));
  if (!nullable) return plain;
  if (plain['type'] === undefined) return { anyOf: [plain, { type: 'null' }] };
  return {
    ...plain,
    type: [plain['type'], 'null'],
    ...(Array.isArray(plain['enum']) && { enum: [...(plain['enum'] as unknown[]), null] }),
  };
}

function inner(keyword: string, value: unknown): unknown {
  if (keyword === 'properties')
    return Object.fromEntries(Object.entries(value as Record<string, Schema>).map(([name, each]) => [name, asJsonSchema(each)]));
  if (keyword === 'items' || keyword === 'additionalProperties') return typeof value === 'object' ? asJsonSchema(value as Schema) : value;
  if (keyword === 'oneOf' || keyword === 'anyOf' || keyword === 'allOf') return (value as Schema[]).map(asJsonSchema);
  return value;
}

/** The published conventions give every object its links, which its schema does not mention. */
function withLinks(schema: Schema): Schema {
  return schema['additionalProperties'] === false
    ? { ...schema, properties: { _links: {}, ...(schema['properties'] as Schema | undefined) } }
    : schema;
}
