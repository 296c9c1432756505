/** What apps say, who visits them, and what goes wrong: several logs at once, followed and searched. Which are shown and what is searched is in the address. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { type Log, logsQuery } from '../../../api/log-queries.ts';
import { runsOf } from '../../../log/ansi.ts';
import { bytesText } from '../../../ui/amounts.ts';
import { Bones } from '../../../ui/notice.tsx';
import { Failure, useTitle } from '../../page.tsx';
import { type OfEnvironment, useEnvironment } from '../use-environment.ts';
import { type TakenLine, useLogs } from './follow-logs.ts';
import './logs.css';

export function LogsPage() {
  const of = useEnvironment();
  useTitle(of && `Logs of ${of.environment.id}`);
  return of && <Logs {...of} />;
}

const usualNames = new Set(['app', 'error']);

/** What is shown where nobody has chosen: what apps said and what went wrong, or else whatever there is. */
function usualLogs(logs: readonly Log[]): readonly Log[] {
  const filled = logs.filter(({ bytes }) => bytes > 0);
  const usual = filled.filter(({ name }) => usualNames.has(name));
  return usual.length > 0 ? usual : filled;
}

function Logs({ project, environment }: OfEnvironment) {
  const { data: logs, error } = useQuery(logsQuery(project, environment));
  const { logs: chosen } = useSearch({ from: '/projects/$project/environments/$environment/logs' });
  if (error) return <Failure error={error} />;
  if (!logs) return <Bones rows={6} height={36} />;
  if (logs.length === 0)
    return (
      <div className="empty">
        <h3>No logs yet</h3>
        <p>Logs are there from the first deployment on, and stay while the environment is paused.</p>
      </div>
    );
  const shown = chosen ? logs.filter(({ id }) => chosen.includes(id)) : usualLogs(logs);
  return <Shown logs={logs} shown={shown} />;
}

function Shown({ logs, shown }: { logs: readonly Log[]; shown: readonly Log[] }) {
  const navigate = useNavigate({ from: '/projects/$project/environments/$environment/logs' });
  const asked = useSearch({ from: '/projects/$project/environments/$environment/logs' });
  const { search = '' } = asked;
  const [isFollowing, setFollowing] = useState(true);
  const lines = useLogs(shown, isFollowing);
  const needle = search.toLowerCase();
  const found = needle === '' ? lines : lines.filter(({ text }) => text.toLowerCase().includes(needle));
  const choose = (id: string) => {
    const ids = shown.map((log) => log.id);
    const next = ids.includes(id) ? ids.filter((each) => each !== id) : [...ids, id];
    void navigate({ to: '.', search: { ...asked, logs: next }, replace: true });
  };
  return (
    <section aria-label="Logs">
      <div className="chips log-choice" role="group" aria-label="Which logs">
        {logs.map((log) => (
          <button
            key={log.id}
            type="button"
            className={shown.includes(log) ? 'chip on' : 'chip'}
            aria-pressed={shown.includes(log)}
            title={`${bytesText(log.bytes)} are kept`}
            onClick={() => choose(log.id)}
          >
            <code>{log.id}</code>
          </button>
        ))}
      </div>
      <div className="log tall">
        <div className="log-head">
          <h2>{shown.length === 0 ? 'Choose a log' : shown.length === 1 ? shown[0]?.id : `${shown.length} logs together`}</h2>
          <span className="quiet small">
            {found.length} {found.length === 1 ? 'line' : 'lines'}
            {needle !== '' && ` of ${lines.length}`}
          </span>
          <label className="push">
            <span className="unseen">Search in the lines</span>
            <input
              className="input"
              type="search"
              placeholder="Search"
              defaultValue={search}
              onChange={({ target }) => {
                const { search: _before, ...others } = asked;
                const next = target.value === '' ? others : { ...others, search: target.value };
                void navigate({ to: '.', search: next, replace: true });
              }}
            />
          </label>
          <button type="button" className="button tiny" aria-pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
            {isFollowing && <span className="live-dot" aria-hidden="true" />}
            {isFollowing ? 'Following' : 'Follow'}
          </button>
        </div>
        <Lines lines={found} needle={needle} withNames={shown.length > 1} />
      </div>
    </section>
  );
}

function Lines({ lines, needle, withNames }: { lines: readonly TakenLine[]; needle: string; withNames: boolean }) {
  const list = useRef<HTMLOListElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  useEffect(() => {
    if (lines.length > 0 && isAtEnd) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [lines, isAtEnd]);
  return (
    <ol
      className={withNames ? 'log-lines app-log named' : 'log-lines app-log'}
      ref={list}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => setAtEnd(scrollHeight - scrollTop - clientHeight < 24)}
    >
      {lines.map(({ key, log, text }) => (
        <li key={key}>
          {withNames && <span className="quiet cut">{log}</span>}
          <span>
            {runsOf(text).map((run, n) => (
              <span key={n} className={run.classes || undefined}>
                <Marked text={run.text} needle={needle} />
              </span>
            ))}
          </span>
        </li>
      ))}
      {lines.length === 0 && <li className="quiet log-empty">{needle === '' ? 'Nothing was said yet.' : 'No line says so.'}</li>}
    </ol>
  );
}

/** Whatever a line holds is text; what was searched for is marked in it. */
function Marked({ text, needle }: { text: string; needle: string }) {
  if (needle === '') return text;
  const parts: React.ReactNode[] = [];
  let at = 0;
  for (let found = text.toLowerCase().indexOf(needle); found !== -1; found = text.toLowerCase().indexOf(needle, at)) {
    parts.push(text.slice(at, found), <mark key={found}>{text.slice(found, found + needle.length)}</mark>);
    at = found + needle.length;
  }
  return [...parts, text.slice(at)];
}
