/** Which types are brought ahead: what the examples are made of unless the operator says otherwise. */
import { catalogue, typesOf } from './catalogue.ts';

/** In the order in which people try them. */
export const exampleTypes: readonly string[] = ['php:8.2', 'postgresql:17', 'nodejs:24', 'redis-persistent:7.0', 'static:1'];
const typesByWord: Readonly<Record<string, readonly string[]>> = { none: [], examples: exampleTypes };

/** In words, for whoever names others. */
export const typesExpected = 'none, examples, or types separated by commas, such as nodejs:24,mariadb:10.11';

/** `none`, `examples`, or types separated by commas. Undefined where there is no such type. */
export function namedTypes(words: string): readonly string[] | undefined {
  const types = typesByWord[words] ?? words.split(',').map((type) => type.trim());
  const known = new Set(typesOf(catalogue));
  return types.every((type) => known.has(type)) ? types : undefined;
}
