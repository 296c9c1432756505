import { expect, test } from 'vitest';
import { concerns, deliveryTypes, matches, type ActivityChange, type HookFilters } from './concerns.ts';

const everything: HookFilters = { events: ['*'], environments: ['*'], excluded_environments: [], states: ['complete'], result: '*' };
const push: ActivityChange = { type: 'environment.push', state: 'complete', result: 'success', environments: ['main'] };

test.for<[string, Partial<HookFilters>, Partial<ActivityChange>, boolean]>([
  ['what is usual hears of everything that has come to its end', {}, {}, true],
  ['what has only begun is not heard of', {}, { state: 'in_progress', result: null }, false],
  ['unless that state was asked for', { states: ['in_progress'] }, { state: 'in_progress', result: null }, true],
  ['a type is named in full', { events: ['environment.push'] }, {}, true],
  ['another type is not that one', { events: ['environment.push'] }, { type: 'environment.pushed' }, false],
  ['a type is named by its beginning', { events: ['environment.*'] }, {}, true],
  ['and by its end', { events: ['*.create'] }, { type: 'project.variable.create' }, true],
  ['one of several is enough', { events: ['project.*', 'environment.push'] }, {}, true],
  ['none is none', { events: [] }, {}, false],
  ['an environment is named', { environments: ['main'] }, {}, true],
  ['another environment is not that one', { environments: ['main'] }, { environments: ['feature'] }, false],
  ['one of the environments of an activity is enough', { environments: ['main'] }, { environments: ['feature', 'main'] }, true],
  ['environments are named by their beginning', { environments: ['pr-*'] }, { environments: ['pr-12'] }, true],
  ['what is excluded is not heard of', { excluded_environments: ['main'] }, {}, false],
  ['also where it is only one of several', { excluded_environments: ['main'] }, { environments: ['feature', 'main'] }, false],
  ['what concerns the whole project is heard of by those who want everything', {}, { environments: [] }, true],
  ['and not by those who named environments', { environments: ['main'] }, { environments: [] }, false],
  ['only failures', { result: 'failure' }, {}, false],
  ['only failures, and it failed', { result: 'failure' }, { result: 'failure' }, true],
  ['a result that is not known yet hinders nobody', { result: 'failure', states: ['pending'] }, { state: 'pending', result: null }, true],
])('%s', ([, filters, change, expected]) => {
  expect(concerns({ ...everything, ...filters }, { ...push, ...change })).toBe(expected);
});

test('of deliveries nobody hears, whatever they asked for', () => {
  const states = ['pending', 'in_progress', 'complete', 'cancelled'];
  for (const type of deliveryTypes)
    for (const state of states) expect(concerns({ ...everything, states, events: ['*', type] }, { ...push, type, state })).toBe(false);
});

test('a pattern of stars takes no longer than its length', () => {
  const pattern = '*a'.repeat(100);
  expect(matches(pattern, `${'a'.repeat(2000)}b`)).toBe(false);
  expect(matches(pattern, 'a'.repeat(2000))).toBe(true);
  expect(matches('a*a', 'a')).toBe(false);
  expect(matches('**', '')).toBe(true);
});
