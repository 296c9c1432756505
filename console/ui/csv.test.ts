import { expect, test } from 'vitest';
import { csvOf } from './csv.ts';

test('what people called things is a cell of a CSV, whatever is in it, and never a formula', () => {
  expect(
    csvOf([
      ['Project', 'kg'],
      ['Shop, "old"', 1.5],
      ['=1+1', -2],
    ]),
  ).toBe('Project,kg\r\n"Shop, ""old""",1.5\r\n\'=1+1,-2\r\n');
});
