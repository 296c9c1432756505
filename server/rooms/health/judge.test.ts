/** Sequences of what is found, minute by minute, and what follows from each. */
import { describe, expect, test } from 'vitest';
import type { Reading } from './checks/check.ts';
import { judge, rememberedSeconds, type Known } from './judge.ts';

const thresholds = { warning: 90, critical: 97, recovery: 85 };
const quietSeconds = 600;
const reading = (value: number): Reading => ({ subject: 'app', value, text: '', thresholds });

/** Plays the sequence, one look each minute, and tells what was decided at which. Undefined: nothing was found about the subject. */
function played(values: readonly (number | undefined)[], quiet = quietSeconds): string[] {
  let known: Known | undefined;
  return values.flatMap((value, minute) => {
    const now = minute * 60;
    const verdict = judge(known, value === undefined ? undefined : reading(value), quiet, now);
    if (!verdict) return [];
    known = after(known, verdict, now);
    return [`${minute} ${verdict.kind}${verdict.kind === 'open' ? ` ${verdict.severity}` : ''}`];
  });
}

/** What is written down after each verdict. */
function after(known: Known | undefined, verdict: NonNullable<ReturnType<typeof judge>>, now: number): Known {
  if (verdict.kind === 'open') return { severity: verdict.severity, returns: verdict.returns, away_since: null, ended_at: null };
  if (!known) throw new Error('Nothing is open');
  const changes = {
    worsen: { severity: 'critical', away_since: null },
    leave: { away_since: now },
    return: { away_since: null },
    end: { ended_at: now },
  } as const;
  return { ...known, ...changes[verdict.kind] };
}

const minutes = (count: number, value: number | undefined) => Array.from({ length: count }, () => value);

describe('an alert', () => {
  test.for<[string, (number | undefined)[], string[]]>([
    ['is not there where nothing is wrong', [10, 89.9, undefined], []],
    ['opens at once', [89, 90], ['1 open warning']],
    ['opens as critical where it is that bad', [97], ['0 open critical']],
    ['is told once, however often it is looked at', [90, 91, 92, 90, 95], ['0 open warning']],
    ['becomes worse, and not better', [90, 98, 91, 98], ['0 open warning', '1 worsen']],
    ['stays between warning and recovery', [90, ...minutes(30, 86)], ['0 open warning']],
    ['ends after it was quiet for long enough', [90, ...minutes(12, 84)], ['0 open warning', '1 leave', '11 end']],
    [
      'that comes and goes is one',
      [90, 10, 90, 10, 90, 10, 90],
      ['0 open warning', '1 leave', '2 return', '3 leave', '4 return', '5 leave', '6 return'],
    ],
    ['that has gone is not back below the warning', [90, 84, ...minutes(10, 88)], ['0 open warning', '1 leave', '11 end']],
    ['ends where its subject is gone', [90, ...minutes(11, undefined)], ['0 open warning', '1 leave', '11 end']],
    [
      'becomes worse while it seemed to go',
      [90, 10, 99, ...minutes(11, 10)],
      ['0 open warning', '1 leave', '2 worsen', '3 leave', '13 end'],
    ],
  ])('%s', ([, values, verdicts]) => {
    expect(played(values)).toEqual(verdicts);
  });

  test('that comes back soon after its end is waited for longer each time', () => {
    const round = [90, ...minutes(11, 10)];
    const verdicts = played([...round, 90, ...minutes(21, 10), 90, ...minutes(41, 10)]);
    expect(verdicts).toEqual([
      '0 open warning',
      '1 leave',
      '11 end',
      '12 open warning',
      '13 leave',
      '33 end',
      '34 open warning',
      '35 leave',
      '75 end',
    ]);
  });

  test('that comes back a day later is a new one', () => {
    const known = { severity: 'warning', away_since: 0, ended_at: 600, returns: 3 } as const;
    expect(judge(known, reading(95), quietSeconds, 600 + rememberedSeconds - 1)).toMatchObject({ kind: 'open', returns: 4 });
    expect(judge(known, reading(95), quietSeconds, 600 + rememberedSeconds)).toMatchObject({ kind: 'open', returns: 0 });
  });

  test('ends at once where its check knows that it is over', () => {
    expect(played([90, 10, 90, undefined], 0)).toEqual(['0 open warning', '1 end', '2 open warning', '3 end']);
  });

  test('does not wait forever for a clock that was set back', () => {
    const known = { severity: 'warning', away_since: 10_000, ended_at: null, returns: 0 } as const;
    expect(judge(known, undefined, quietSeconds, 100)).toEqual({ kind: 'leave' });
  });
});
