/** Every operation of the published API is in our own OpenAPI document. The facts are in testing/published-operations.txt: a method and a path on each line. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openapi } from './kernel/openapi.ts';
import { rooms } from './rooms.ts';

const published = readFileSync(new URL('testing/published-operations.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');

const paths = openapi(rooms, 'https://offshoot.example')['paths'] as Record<string, Record<string, unknown>>;
const ours = new Set(
  Object.entries(paths).flatMap(([path, item]) => Object.keys(item).map((method) => nameless(`${method.toUpperCase()} ${path}`))),
);

/** Our document and the published one name path parameters differently. */
function nameless(endpoint: string): string {
  return endpoint.replaceAll(/{\w+}/g, '{}');
}

test('every published operation exists', () => {
  expect(published.filter((endpoint) => !ours.has(nameless(endpoint)))).toEqual([]);
});
