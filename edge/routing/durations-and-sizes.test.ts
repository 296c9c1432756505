import { expect, test } from 'vitest';
import { durationSeconds, sizeBytes } from './durations-and-sizes.ts';

test.each([
  ['-1', -1],
  ['-1s', -1],
  ['0', 0],
  ['90', 90],
  ['1500ms', 1],
  ['5m', 300],
  ['1.5h', 5400],
  ['1d', 86_400],
  ['2w', 1_209_600],
  ['1M', 2_592_000],
  ['1y', 31_536_000],
  ['', -1],
  ['soon', -1],
  ['5 minutes', -1],
])('%s is %d seconds', (text, seconds) => expect(durationSeconds(text)).toBe(seconds));

test.each([
  ['250m', 262_144_000],
  ['10', 10],
  ['1k', 1024],
  ['1.5G', 1_610_612_736],
  ['20MB', 20_971_520],
  ['1KiB', 1024],
  ['0', 0],
  ['', undefined],
  ['-5m', undefined],
  ['lots', undefined],
])('%s is %s bytes', (text, bytes) => expect(sizeBytes(text)).toBe(bytes));
