import { expect, test } from 'vitest';
import { catalogue, nameOfType, versionOfType } from '../catalogue/catalogue.ts';
import { exampleTypes } from '../catalogue/example-types.ts';
import { everydayTypes } from './tried-types.ts';

test('every day one version of each type is tried: that of the examples, or the newest', () => {
  const tried = everydayTypes(catalogue);
  const entries = Object.entries(catalogue);
  const triedOf = (name: string) => tried.filter((type) => catalogue[nameOfType(type)] === catalogue[name]);
  expect(entries.filter(([name]) => triedOf(name).length !== 1)).toEqual([]);
  expect(exampleTypes.filter((type) => !tried.includes(type))).toEqual([]);
  const others = tried.filter((type) => !exampleTypes.some((example) => nameOfType(example) === nameOfType(type)));
  expect(others.length).toBeGreaterThan(0);
  expect(others.filter((type) => catalogue[nameOfType(type)]?.versions[0]?.version !== versionOfType(type))).toEqual([]);
});
