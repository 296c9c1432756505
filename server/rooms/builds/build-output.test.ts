import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { maskOf, openOutput, oneVoiceAtATime } from './build-output.ts';

const printed = async (stdout: string[], secrets: string[] = []) => {
  const lines: string[] = [];
  const [out, errors] = [new PassThrough(), new PassThrough()];
  const following = openOutput((line) => lines.push(line), maskOf(secrets)).follow(out, errors);
  for (const chunk of stdout) out.write(chunk);
  out.end();
  errors.end();
  await following;
  return lines;
};

test('a secret is masked wherever its parts arrive, and no part of it is left where a line is cut', async () => {
  const secret = 'correct horse battery';
  expect(await printed(['it is correct ho', 'rse battery.\nand again: correct horse battery'], [secret])).toEqual([
    '    it is *****.',
    '    and again: *****',
  ]);
  const [line = ''] = await printed([`${'x'.repeat(4090)}${secret}${'y'.repeat(100_000)}\n`], [secret]);
  expect(line.length).toBeLessThan(4200);
  expect(line).not.toContain('cor');
  const key = '-----BEGIN KEY-----\nMIIEow\n-----END KEY-----\n';
  expect(await printed([key], [key])).toEqual(['    *****', '    *****', '    *****']);
  expect(await printed(['a 1 b\n'], ['1', ''])).toEqual(['    a 1 b']);
});

test('what would move the cursor is left out; colours stay', async () => {
  expect(await printed(['10 %\r50 %\r100 %\r\n', '\u001b[31mred\u001b[0m\u001b[2J\u0007\n', 'a\tb\n'])).toEqual([
    '    100 %',
    '    \u001b[31mred\u001b[0m',
    '    a\tb',
  ]);
});

test('of several who speak at once one is heard as it goes, the others when it has ended', () => {
  const heard: string[] = [];
  const speak = oneVoiceAtATime((line) => heard.push(line));
  const [one, two, three] = [speak(), speak(), speak()];
  two.log('two 1');
  one.log('one 1');
  three.log('three 1');
  two.end();
  one.log('one 2');
  expect(heard).toEqual(['one 1', 'one 2']);
  one.end();
  three.log('three 2');
  three.end();
  expect(heard).toEqual(['one 1', 'one 2', 'two 1', 'three 1', 'three 2']);
});
