/**
 * Transactions as the edge saw them wait until it is clear whether their app reports its own: what both told of would count twice. The first report of an app comes some seconds after the first
 * request, so that none of that time is counted twice either.
 */
import type { TransactionRecord } from '../../drivers/metrics/metrics.ts';
import type { OwnReports } from './own-reports.ts';

/** Longer than programs collect what they report, unless told otherwise. */
export const heldMilliseconds = 10_000;
const heldMax = 200_000;

export interface HeldTransactions {
  /** Answers how many there was no room for. */
  hold(records: readonly TransactionRecord[]): number;
  /** Hands on what has waited long enough, of apps that do not report themselves. */
  release(): void;
  /** Hands on all of them. */
  end(): void;
}

interface Held {
  since: number;
  records: readonly TransactionRecord[];
}

export function openHeldTransactions(
  reports: Pick<OwnReports, 'has'>,
  handOn: (records: readonly TransactionRecord[]) => void,
  now: () => number = () => performance.now(),
): HeldTransactions {
  let held: Held[] = [];
  let count = 0;
  const handOnAll = (due: readonly Held[]) => {
    for (const { records } of due) {
      count -= records.length;
      const counted = records.filter((record) => !reports.has(record, record.application));
      if (counted.length > 0) handOn(counted);
    }
  };
  return {
    hold(records) {
      const kept = records.slice(0, Math.max(0, heldMax - count));
      count += kept.length;
      if (kept.length > 0) held.push({ since: now(), records: kept });
      return records.length - kept.length;
    },
    release() {
      const [due, early] = [[] as Held[], [] as Held[]];
      for (const each of held) (now() - each.since >= heldMilliseconds ? due : early).push(each);
      held = early;
      handOnAll(due);
    },
    end() {
      const all = held;
      held = [];
      handOnAll(all);
    },
  };
}
