/** Which types have their images fetched in advance: those that the examples use, unless the operator says otherwise. */
import { builtTypesOf, catalogue } from './catalogue.ts';

/** The types of the examples, in the order in which people try them. */
export const exampleTypes: readonly string[] = ['php:8.4', 'postgresql:17', 'nodejs:24', 'redis-persistent:8.0', 'static:1'];
const typesByWord: Readonly<Record<string, readonly string[]>> = { none: [], examples: exampleTypes };

/** What an operator may write, in words, for the message about a wrong value. */
export const typesExpected = 'none, examples, or types separated by commas, such as nodejs:24,mariadb:11.8';

/** Reads `none`, `examples`, or types separated by commas. Undefined when one of the types does not exist, or is an image of a registry. */
export function namedTypes(words: string): readonly string[] | undefined {
  const types = typesByWord[words] ?? words.split(',').map((type) => type.trim());
  const known = new Set(builtTypesOf(catalogue));
  return types.every((type) => known.has(type)) ? types : undefined;
}
