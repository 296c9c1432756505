import { expect, test } from 'vitest';
import { runsOf } from './ansi.ts';

test('colours become classes, and end where the line says so', () => {
  expect(runsOf('\u001b[32mok\u001b[0m in \u001b[1;31m8 s\u001b[m')).toEqual([
    { text: 'ok', classes: 'a-green' },
    { text: ' in ', classes: '' },
    { text: '8 s', classes: 'a-red a-bold' },
  ]);
});

test('whatever else a program writes is text, and what would move a cursor or set a title is gone', () => {
  expect(runsOf('<script>alert(1)</script>')).toEqual([{ text: '<script>alert(1)</script>', classes: '' }]);
  expect(
    runsOf('a\u001b[2Jb\u001b]0;title\u0007c\u0008')
      .map(({ text }) => text)
      .join(''),
  ).toBe('abc');
});
