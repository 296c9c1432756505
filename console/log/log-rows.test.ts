import { expect, test } from 'vitest';
import { failingLine } from './failing-line.ts';
import { found, lineOf, rowAt, rowsOf } from './log-rows.ts';
import { stepsOf } from './steps.ts';

const lines = ['Building', '  one', '  two', 'Deploying', '  three', 'Done'].map((text, n) => ({
  id: String(n),
  number: n + 1,
  at: '2026-01-01T00:00:00Z',
  text,
}));
const steps = stepsOf(lines);

test('a step that is closed hides its lines, and stands for them', () => {
  const rows = rowsOf(steps, ({ head }) => head.text !== 'Building');
  expect(rows.map((row) => lineOf(row).number)).toEqual([1, 4, 5, 6]);
  expect([1, 2, 3, 4, 5, 6].map((number) => rowAt(rows, number))).toEqual([0, 0, 0, 1, 2, 3]);
});

test('a search finds every line that holds the text, in any case', () => {
  expect(found(lines, 'E')).toEqual([2, 4, 5, 6]);
  expect(found(lines, '')).toEqual([]);
});

test('the line that says why it failed is the one that is marked as the error', () => {
  expect(failingLine(lines)).toBeUndefined();
  const failed = ["    E: of the app's own", 'E: The deploy hook of app failed.', 'Environment redeployment failed'].map((text, n) => ({
    id: `f${n}`,
    number: lines.length + n + 1,
    at: '2026-01-01T00:00:00Z',
    text,
  }));
  expect(failingLine([...lines, ...failed])).toBe(lines.length + 2);
  const marked = rowsOf(stepsOf([...lines, ...failed]), () => false).filter((row) => 'step' in row && row.hasFailed);
  expect(marked.map((row) => lineOf(row).text)).toEqual(['Done']);
});
