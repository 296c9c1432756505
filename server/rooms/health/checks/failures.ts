/** Deployments and backups that failed. The next one that succeeds ends the alert at once. */
import type { EndedBackup } from '../sources.ts';
import { check } from './check.ts';

export const deployment = check({
  source: 'deployment',
  title: () => 'A deployment failed',
  quietSeconds: 0,
  read: ({ last }) =>
    last === null || last.successful
      ? []
      : [
          {
            subject: '',
            value: 1,
            text: `${last.reason ?? 'The deployment was not finished.'} What was deployed before is still there. The log of the activity tells more (upsun activity:log).`,
            thresholds: { warning: 1, critical: Infinity, recovery: 1 },
          },
        ],
});

export const backup = check({
  source: 'backups',
  title: () => 'A backup failed',
  quietSeconds: 0,
  read: (newestFirst) => {
    const failures = failuresInRow(newestFirst);
    const reason = newestFirst[0]?.sentence?.replace(/^E: /, '') ?? 'The backup was not finished.';
    const row = failures === 1 ? 'The last backup failed' : `The last ${failures} backups failed`;
    return [{ subject: '', value: failures, text: `${row}. ${reason}`, thresholds: { warning: 1, critical: 3, recovery: 1 } }];
  },
});

function failuresInRow(newestFirst: readonly EndedBackup[]): number {
  const success = newestFirst.findIndex(({ result }) => result === 'success');
  return success === -1 ? newestFirst.length : success;
}
