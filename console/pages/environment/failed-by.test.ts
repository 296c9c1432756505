import { expect, test } from 'vitest';
import type { Activity } from '../../api/resources.ts';
import { failedBy } from './failed-by.ts';

const activity = (id: string, result: Activity['result'], completed_at: string | null) => ({ id, result, completed_at }) as Activity;

test('the activity is found whose deployment failed at that time, and no other that failed', () => {
  const activities = [
    activity('cron', 'failure', '2026-11-17T11:00:00Z'),
    activity('push', 'failure', '2026-11-17T10:00:02Z'),
    activity('earlier', 'success', '2026-11-17T09:59:59Z'),
    activity('running', null, null),
  ];
  expect(failedBy(activities, '2026-11-17T10:00:00Z')?.id).toBe('push');
  expect(failedBy(activities, '2026-11-01T10:00:00Z')).toBeUndefined();
});
