/** How much of what a task says is kept. What it says as such is tried with real ones, in tasks.test.ts. */
import { expect, test } from 'vitest';
import type { LogLine } from '../../drivers/runtime/runtime.ts';
import { sampleStack, task } from '../../testing/stack.ts';
import { markOf, openTaskOutput, type Speaking } from './task-output.ts';

const id = 'taskoutput';
const run = { id, stack: sampleStack(), task: task('report', { hooks: { build: null, deploy: 'flood' } }) };
const linesMax = 20_000;
/** The last 50 lines of what is too much, and one line that says how many were left out. */
const shownAfterwards = 51;

function listener(payload: unknown = {}) {
  const lines: string[] = [];
  let told: Record<string, unknown> = {};
  const work = {
    activity: { payload, commands: [] },
    log: (line: string) => void lines.push(line),
    command: () => {},
    tell: (said: Record<string, unknown>) => void (told = said),
  } as unknown as Speaking;
  return { lines, told: () => told, output: openTaskOutput(work, run, {}) };
}

const said = (number: number, text = `line ${number}`): LogLine => ({ at: new Date(number), stream: 'stdout', text });

test('a hook and a command that do not stop talking are cut like a build, and their last lines are there', () => {
  const { lines, output } = listener();
  for (let number = 1; number <= 30_000; number++) output.hear(said(number));
  output.hear(said(30_001, `${markOf(id)} deploy 0`));
  expect(lines).toHaveLength(linesMax + shownAfterwards + 1);
  expect(lines.slice(-3)).toEqual(['    line 29999', '    line 30000', '  Executing command']);
  expect(lines).toContain('    W: 9950 more lines are left out here.');
  for (let number = 30_002; number <= 60_000; number++) output.hear(said(number));
  output.end(0);
  expect(lines).toHaveLength(linesMax + 2 * shownAfterwards + 1);
  expect(lines.at(-1)).toBe('    line 60000');
});

test('a limit on output goes on counting in the next process when the one that heard the task was killed', () => {
  const first = listener();
  for (let number = 1; number <= 25_000; number++) first.output.hear(said(number));
  const second = listener(first.told());
  for (let number = 1; number <= 30_000; number++) second.output.hear(said(number));
  second.output.end(0);
  expect([...first.lines, ...second.lines]).toHaveLength(linesMax + shownAfterwards);
  expect(second.lines.at(-1)).toBe('    line 30000');
});
