import { expect, test } from 'vitest';
import { catalogue, isBuiltIn, nameOfType, recipesOf } from '../catalogue/catalogue.ts';
import { exampleTypes } from '../catalogue/example-types.ts';
import { everydayTypes } from './tried-types.ts';

test('every day one version of each type that is built in and not large is tried: that of the examples, or the newest from the same Debian, so that one is enough', () => {
  const tried = everydayTypes(catalogue);
  const builtIn = Object.entries(catalogue).filter(([name]) => isBuiltIn(name));
  const [large, entries] = [builtIn.filter(([, { isLarge }]) => isLarge), builtIn.filter(([, { isLarge }]) => !isLarge)];
  const triedOf = (name: string) => tried.filter((type) => catalogue[nameOfType(type)] === catalogue[name]);
  expect(entries.filter(([name]) => triedOf(name).length !== 1)).toEqual([]);
  expect(large.filter(([name]) => triedOf(name).length > 0)).toEqual([]);
  expect(exampleTypes.filter((type) => !tried.includes(type))).toEqual([]);
  expect(new Set(tried.map((type) => recipesOf(catalogue, type)[0])).size).toBe(1);
  const others = tried.filter((type) => !exampleTypes.some((example) => nameOfType(example) === nameOfType(type)));
  expect(others).toEqual(expect.arrayContaining(['mariadb:11.8', 'python:3.13', 'golang:1.26', 'memcached:1.6']));
});
