import { expect, test } from 'vitest';
import { concerns, keyOf } from './events.ts';

test('a change concerns what is at its address and below it, and the lists that it is in', () => {
  const changed = keyOf('/projects/abc/environments/feature%2Fone', 'ada');
  expect(changed).toEqual(['projects', 'abc', 'environments', 'feature/one']);
  const queries = {
    itself: ['projects', 'abc', 'environments', 'feature/one'],
    below: ['projects', 'abc', 'environments', 'feature/one', 'backups'],
    list: ['projects', 'abc', 'environments'],
    filtered: ['projects', 'abc', 'environments', { type: 'staging' }],
    project: ['projects', 'abc'],
    sibling: ['projects', 'abc', 'environments', 'main'],
    elsewhere: ['projects', 'xyz', 'environments'],
  };
  const concerned = Object.entries(queries).filter(([, key]) => concerns(changed, key));
  expect(concerned.map(([name]) => name)).toEqual(['itself', 'below', 'list', 'filtered']);
});

test('what belongs to whoever is signed in is known as me', () => {
  expect(keyOf('/users/ada/api-tokens', 'ada')).toEqual(['me', 'api-tokens']);
  expect(keyOf('/users/eve/api-tokens', 'ada')).toEqual(['users', 'eve', 'api-tokens']);
  expect(keyOf('/users/eve', undefined)).toEqual(['users', 'eve']);
});
