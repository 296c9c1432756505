import { expect, test } from 'vitest';
import { matching, type Named } from './matching.ts';

const entry = (group: Named['group'], name: string, place = ''): Named => ({ group, name, place });
const entries = [entry('Pages', 'Backups', 'Environment'), entry('Environments', 'feature-back'), entry('Projects', 'Shop', 'Acme')];

test('what is found holds every word that was typed, and what begins with it comes first', () => {
  const names = (typed: string) => matching(entries, typed, 10).map(({ name }) => name);
  expect(names('back')).toEqual(['Backups', 'feature-back']);
  expect(names('feat back')).toEqual(['feature-back']);
  expect(names('acme shop')).toEqual(['Shop']);
  expect(names('')).toHaveLength(3);
});
