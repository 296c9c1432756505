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

test('what the installation lists and sums up is told by what it is made of; what is measured is told by nothing', () => {
  const parts = ['users', 'organizations', 'resources', 'health', 'sign-ins'];
  const told = (path: string) => parts.filter((part) => concerns(keyOf(path, 'ada'), ['installation', part, '']));
  expect(told('/users/ada')).toEqual(['users']);
  expect(told('/organizations/acme/members/eve')).toEqual(['users', 'organizations']);
  expect(told('/projects/abc/environments/main/deployments/7')).toEqual(['organizations', 'resources']);
  expect(told('/projects/abc/activities/one')).toEqual([]);
  expect(concerns(keyOf('/projects/abc/activities/one', 'ada'), ['installation'])).toBe(false);
});
