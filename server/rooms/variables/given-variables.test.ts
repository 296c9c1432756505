import { expect, test } from 'vitest';
import { Problem } from '../../kernel/problem.ts';
import { checkedVariables } from './given-variables.ts';

function mistakes(given: Record<string, Record<string, unknown>>) {
  try {
    return checkedVariables(given).map(({ name, value }) => `${name}=${value}`);
  } catch (error) {
    if (error instanceof Problem) return error.fields;
    throw error;
  }
}

test('given variables are taken with their prefixes; what is not text is JSON', () => {
  expect(checkedVariables()).toEqual([]);
  expect(checkedVariables({ env: { A: 'x', _b1: 2 }, php: { memory_limit: '1G' }, theme: { colors: ['red'], on: false } })).toMatchObject([
    { name: 'env:A', value: 'x', is_json: false, visible_runtime: true },
    { name: 'env:_b1', value: '2', is_json: true },
    { name: 'php:memory_limit', value: '1G', is_json: false },
    { name: 'theme:colors', value: '["red"]', is_json: true },
    { name: 'theme:on', value: 'false', is_json: true },
  ]);
});

test('all that is wrong with them is told at once, each by its field', () => {
  const long = 'x'.repeat(64 * 1024 + 1);
  expect(
    mistakes({
      env: {
        '1A': 'x',
        'A-B': 'x',
        '': 'x',
        PLATFORM_BRANCH: 'x',
        GOOD: 'x',
        LONG: long,
        NOTHING: null,
        ZERO: 'a\0b',
        ['N'.repeat(257)]: '',
      },
      'a b': { c: 'x' },
      theme: { 'with space': 'x' },
    }),
  ).toEqual({
    'variables.env.1A': expect.stringContaining('does not begin with a digit'),
    'variables.env.A-B': expect.stringContaining('letters, digits and underscores'),
    'variables.env.': expect.stringContaining('letters, digits and underscores'),
    'variables.env.PLATFORM_BRANCH': 'cannot be set: such names are for what the platform says',
    'variables.env.LONG': 'must be 64 KiB at most',
    'variables.env.NOTHING': 'must be a text, a number, true or false, a list or an object',
    'variables.env.ZERO': 'must not hold a zero byte',
    [`variables.env.${'N'.repeat(257)}`]: 'must have a name of 256 characters at most',
    'variables.a b': expect.stringContaining('must be a prefix'),
    'variables.theme.with space': expect.stringContaining('without spaces'),
  });
});

test('they are bounded in number and together', () => {
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`A${n}`, '']));
  expect(mistakes({ env: many })).toEqual({ variables: 'must be 100 at most' });
  const large = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`A${n}`, 'x'.repeat(60_000)]));
  expect(mistakes({ env: large })).toEqual({ variables: 'must be 512 KiB at most, together' });
});
