import { describe, expect, test } from 'vitest';
import type { ResourcesRow } from '../../../drivers/metrics/questions.ts';
import { judge } from '../judge.ts';
import type { Sources } from '../sources.ts';
import { checkNames, checks, type CheckName } from './checks.ts';

const gigabyte = 2 ** 30;
const aggregates = (avg: number) => ({ min: avg, max: avg, avg, stddev: 0, p50: avg, p95: avg, p96: avg, p97: avg, p98: avg, p99: avg });

const disk = (used: number, limit: number): ResourcesRow => ({
  service: 'db',
  instance: 'db.0',
  mount: '/mnt',
  used: { disk_used: aggregates(used * gigabyte) },
  limits: { disk_limit: limit * gigabyte },
});
const memory = (percent: number, instance = 'app.0'): ResourcesRow => ({
  service: 'app',
  instance,
  used: { memory_used: aggregates(percent * 1000) },
  limits: { memory_limit: 100_000 },
});
const traffic = (count: number, failed: number): NonNullable<Sources['traffic']> => ({
  timeline: [
    { timestamp: 0, count, consumed: 0, requestBytes: 0, responseBytes: 0, codes: { '2': count - failed, '5': failed }, tops: {} },
  ],
});
const certificate = { serves: ['shop.example.org'], is_automatic: false, days_left: 90, overdue_percent: null, trouble: null };
const automatic = { ...certificate, is_automatic: true };

/** How bad it is for somebody who never heard of it before. */
const severityIn = (name: CheckName, sources: Sources) =>
  (checks[name].readings(sources) ?? []).map((reading) => {
    const verdict = judge(undefined, reading, 0, 0);
    return verdict?.kind === 'open' ? verdict.severity : 'well';
  });

describe('checks', () => {
  test.for<[CheckName, string, Sources, string[]]>([
    ['disk', 'a small disk with a fifth free', { resources: [disk(3.99, 5)] }, ['well']],
    ['disk', 'a small disk with less than a fifth free', { resources: [disk(4.01, 5)] }, ['warning']],
    ['disk', 'a small disk with less than a tenth free', { resources: [disk(4.51, 5)] }, ['critical']],
    ['disk', 'a large disk with 5 GB free', { resources: [disk(95, 100)] }, ['well']],
    ['disk', 'a large disk with 3 GB free', { resources: [disk(97, 100)] }, ['warning']],
    ['disk', 'a large disk with 1 GB free', { resources: [disk(99, 100)] }, ['critical']],
    ['disk', 'an app without a disk', { resources: [memory(50)] }, []],
    ['memory', 'half of it', { resources: [memory(50)] }, ['well']],
    ['memory', 'one of two instances near its limit', { resources: [memory(50), memory(98, 'app.1')] }, ['critical']],
    ['errors', 'one visitor who got four', { traffic: traffic(4, 4) }, []],
    ['errors', 'one in a hundred', { traffic: traffic(1000, 10) }, ['well']],
    ['errors', 'one in ten', { traffic: traffic(100, 10) }, ['warning']],
    ['errors', 'half', { traffic: traffic(10, 5) }, ['critical']],
    ['restarts', 'two', { incidents: [{ kind: 'restart', service: 'app', count: 2 }] }, ['well']],
    ['restarts', 'three', { incidents: [{ kind: 'restart', service: 'app', count: 3 }] }, ['warning']],
    ['out_of_memory', 'one kill', { incidents: [{ kind: 'out of memory', service: 'app', count: 1 }] }, ['warning']],
    ['start', 'nothing starts', { start: { failure: 'There is no room.' } }, ['critical']],
    ['start', 'everything runs', { start: { failure: null } }, []],
    ['certificate_end', 'of three months', { certificates: [certificate] }, ['well']],
    ['certificate_end', 'of a week', { certificates: [{ ...certificate, days_left: 7 }] }, ['warning']],
    ['certificate_end', 'that is over', { certificates: [{ ...certificate, days_left: -1 }] }, ['critical']],
    ['certificate_end', 'that comes by itself', { certificates: [{ ...automatic, days_left: 5 }] }, []],
    ['certificate_renewal', 'that is not yet due', { certificates: [automatic] }, []],
    ['certificate_renewal', 'that was just begun', { certificates: [{ ...automatic, overdue_percent: 5 }] }, ['well']],
    ['certificate_renewal', 'that fails for long', { certificates: [{ ...automatic, overdue_percent: 40 }] }, ['warning']],
    ['certificate_refusal', 'three times', { refusals: [{ names: ['a.example.org'], refusals: 3, trouble: 'No address.' }] }, ['warning']],
    ['deployment', 'that never was', { deployment: { last: null } }, []],
    ['deployment', 'that succeeded', { deployment: { last: { successful: true, reason: null } } }, []],
    ['deployment', 'that failed', { deployment: { last: { successful: false, reason: 'The build failed.' } } }, ['warning']],
    ['backup', 'none yet', { backups: [] }, ['well']],
    [
      'backup',
      'the last one failed',
      {
        backups: [
          { result: 'failure', sentence: 'E: Full.' },
          { result: 'success', sentence: null },
        ],
      },
      ['warning'],
    ],
    [
      'backup',
      'three in a row failed',
      { backups: Array.from({ length: 3 }, () => ({ result: 'failure', sentence: null })) },
      ['critical'],
    ],
  ])('%s: %s', ([name, , sources, severities]) => {
    expect(severityIn(name, sources)).toEqual(severities);
  });

  test('say nothing where nobody knows', () => {
    expect(checkNames.map((name) => checks[name].readings({}))).toEqual(checkNames.map(() => undefined));
  });

  test('recover at or below the warning, and warn before they are critical', () => {
    const everything: Sources = {
      resources: [disk(1, 5), memory(5)],
      traffic: traffic(10, 5),
      incidents: [
        { kind: 'restart', service: 'app', count: 1 },
        { kind: 'out of memory', service: 'app', count: 1 },
      ],
      start: { failure: 'It fails.' },
      certificates: [certificate, { ...automatic, overdue_percent: 1 }],
      refusals: [{ names: ['a.example.org'], refusals: 1, trouble: null }],
      deployment: { last: { successful: false, reason: null } },
      backups: [{ result: 'failure', sentence: null }],
    };
    for (const name of checkNames) {
      const found = checks[name].readings(everything) ?? [];
      expect(found, `${name} finds something`).not.toEqual([]);
      for (const {
        thresholds: { warning, critical, recovery },
      } of found)
        expect([recovery <= warning, warning <= critical], `thresholds of ${name}`).toEqual([true, true]);
    }
  });
});
