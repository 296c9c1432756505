/** What an activity says, as it says it: steps that fold, lines with addresses, and the end in sight as long as nobody scrolls away from it. */
import { useLocation, useRouter } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useState } from 'react';
import { hrefOf, linkOf } from '../api/link.ts';
import { isUnderWay } from '../api/queries.ts';
import { request } from '../api/request.ts';
import type { Activity } from '../api/resources.ts';
import { duration, useNow } from '../ui/age.tsx';
import { Bones } from '../ui/notice.tsx';
import { Glyph, type Standing } from '../ui/status.tsx';
import { ActivitySentence } from './activity-sentence.tsx';
import { failingLine, failureAddress } from './failing-line.ts';
import { type FollowedLog, useLog } from './follow-log.ts';
import { LogLines } from './log-lines.tsx';
import { found, rowsOf } from './log-rows.ts';
import { LogSearch } from './log-search.tsx';
import { stepsOf } from './steps.ts';

export function activityStanding({ state, result }: Activity): Standing | 'done' {
  if (state === 'in_progress' || state === 'pending') return 'building';
  if (result === 'failure') return 'failed';
  return state === 'complete' ? 'done' : 'inactive';
}

/** At its own address it is as high as the window; elsewhere it has a height of its own, and its steps are closed but for the last. */
export function ActivityLog({ activity, isWhole = false }: { activity: Activity; isWhole?: boolean }) {
  const log = useLog(hrefOf(activity, 'log'));
  const [typed, setTyped] = useState('');
  const search = useDeferredValue(typed);
  const lines = useMemo(() => found(log.lines, search), [log.lines, search]);
  const [shown, setShown] = useState<number>();
  return (
    <section className={isWhole ? 'log tall' : 'log live-log'} aria-label="Log">
      <Head activity={activity}>{isWhole && <LogSearch typed={typed} lines={lines} onType={setTyped} onShow={setShown} />}</Head>
      {isUnderWay(activity) && (
        <span className="progress" aria-hidden="true">
          <span style={{ width: `${activity.completion_percent}%` }} />
        </span>
      )}
      {log.brokenSince !== undefined && (
        <p className="notice is-paused" role="status">
          The log has not been heard of since {new Date(log.brokenSince).toLocaleTimeString()}; it is asked for again.
        </p>
      )}
      <Lines activity={activity} log={log} isWhole={isWhole} search={search} found={shown} />
    </section>
  );
}

function Head({ activity, children }: { activity: Activity; children: React.ReactNode }) {
  const now = useNow();
  const cancel = linkOf(activity, '#cancel');
  return (
    <div className="log-head">
      <Glyph of={activityStanding(activity)} />
      <h2 className="cut">
        <ActivitySentence activity={activity} />
      </h2>
      <span className="push small quiet nowrap">{activity.started_at && duration(activity.started_at, activity.completed_at ?? now)}</span>
      {children}
      {cancel && (
        <button type="button" className="button quiet tiny" onClick={() => void request('POST', cancel.href)}>
          Cancel
        </button>
      )}
    </div>
  );
}

interface LinesProps {
  activity: Activity;
  log: FollowedLog;
  isWhole: boolean;
  search: string;
  /** The line that a search shows. */
  found: number | undefined;
}

function Lines({ activity, log, isWhole, search, found: foundLine }: LinesProps) {
  const [follows, setFollows] = useState(true);
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const router = useRouter();
  const params = { project: activity.project, activity: activity.id };
  const address = router.history.createHref(router.buildLocation({ to: '/projects/$project/activities/$activity', params }).publicHref);
  const hash = useLocation({ select: (location) => (isWhole ? location.hash : '') });
  const addressed = hash === failureAddress ? failingLine(log.lines) : numberIn(hash);
  const shown = foundLine ?? addressed;
  const steps = useMemo(() => stepsOf(log.lines), [log.lines]);
  const rows = useMemo(
    () =>
      rowsOf(steps, ({ head, lines }, isLast) => {
        const holdsShown = shown !== undefined && shown > head.number && shown <= (lines.at(-1)?.number ?? 0);
        return folds.get(head.id) ?? (isWhole || isLast || holdsShown);
      }),
    [steps, folds, isWhole, shown],
  );
  const isThere = shown === undefined || shown <= log.lines.length;
  // What has ended said what it said: until that is read, nothing is known of it.
  if (rows.length === 0 && !log.isSealed && !isUnderWay(activity)) return <Bones rows={3} height={18} />;
  if (rows.length === 0) return <p className="quiet log-empty">{log.isSealed ? 'It said nothing.' : 'It has said nothing yet.'}</p>;
  return (
    <LogLines
      rows={rows}
      address={address}
      follows={follows && shown === undefined}
      isLive={isUnderWay(activity) || !isWhole}
      standingOfLast={activityStanding(activity)}
      shown={isThere ? shown : undefined}
      search={search}
      onFollow={setFollows}
      onToggle={({ head }, isOpen) => setFolds(new Map(folds).set(head.id, isOpen))}
    />
  );
}

/** The line of an address that ends with `#L17`. */
function numberIn(hash: string): number | undefined {
  const number = /^L(\d+)$/.exec(hash)?.[1];
  return number === undefined ? undefined : Number(number);
}
