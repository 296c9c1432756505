/**
 * What changes is told by the API, over one stream for each tab (`GET /events`), so nothing is asked for again as long as it stays the same. The keys of
 * queries are the parts of the addresses that they are about: a change at an address concerns the queries at it and below it, and the lists that it is in.
 * While a tab is hidden it does not listen; when it is looked at again, it goes on from where it was.
 */
import { type Query, type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { SignedOut } from '../session/session.ts';
import { open } from './request.ts';
import type { User } from './resources.ts';
import { type ServerEvent, serverEventsOf } from './server-events.ts';

/** Things that change several times a second are asked for this often at most. */
const askMilliseconds = 1000;
const againMilliseconds = 500;
const againMillisecondsMax = 30_000;

const following = new WeakSet<QueryClient>();

/** For all pages of whoever is signed in: the first one begins to follow, and it goes on for as long as the tab is open. */
export function useChanges() {
  const queries = useQueryClient();
  useEffect(() => {
    if (following.has(queries)) return;
    following.add(queries);
    // Whoever is signed out is on the way to signing in, on another page.
    followChanges(queries).catch(() => following.delete(queries));
  }, [queries]);
}

async function followChanges(queries: QueryClient): Promise<never> {
  const asking = openAsking(queries);
  let position: string | undefined;
  let failures = 0;
  for (;;) {
    await untilVisible();
    const hidden = new AbortController();
    const stop = whenHidden(() => hidden.abort());
    try {
      for await (const { id, event, data } of listen(position, hidden.signal)) {
        failures = 0;
        position = id ?? position;
        if (event === 'reset') asking.everything();
        if (event === 'change') asking.about((JSON.parse(data) as { path: string }).path);
      }
    } catch (error) {
      if (error instanceof SignedOut) throw error;
      // Without the stream, people still see what is true whenever it is tried again.
      if (!hidden.signal.aborted && ++failures > 1) asking.everything();
    } finally {
      stop();
    }
    if (!hidden.signal.aborted) await new Promise((settle) => setTimeout(settle, pause(failures)));
  }
}

const pause = (failures: number) => Math.min(againMilliseconds * 2 ** failures, againMillisecondsMax);

async function* listen(position: string | undefined, gone: AbortSignal): AsyncGenerator<ServerEvent> {
  const { body } = await open('GET', '/events', undefined, gone, position === undefined ? {} : { 'last-event-id': position });
  if (body) yield* serverEventsOf(body);
}

const untilVisible = () =>
  document.visibilityState === 'visible'
    ? undefined
    : new Promise<void>((settle) => {
        document.addEventListener('visibilitychange', () => settle(), { once: true });
      });

function whenHidden(leave: () => void) {
  const look = () => document.visibilityState === 'hidden' && leave();
  document.addEventListener('visibilitychange', look);
  return () => document.removeEventListener('visibilitychange', look);
}

/** Asks again for what changed: at once for the first change, and then once a second at most. */
function openAsking(queries: QueryClient) {
  const paths = new Set<string>();
  let isEverything = false;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let askedAt = 0;
  const ask = () => {
    waiting = undefined;
    askedAt = Date.now();
    const me = queries.getQueryData<User>(['me'])?.id;
    const changed = [...paths].map((path) => keyOf(path, me));
    const isAll = isEverything;
    paths.clear();
    isEverything = false;
    // What is asked for the first time at this moment is answered with what is true now.
    const isConcerned = (query: Query) => (isAll ? query.state.dataUpdatedAt > 0 : changed.some((key) => concerns(key, query.queryKey)));
    void queries.invalidateQueries({ predicate: isConcerned });
  };
  const soon = () => (waiting ??= setTimeout(ask, Math.max(50, askedAt + askMilliseconds - Date.now())));
  return {
    about(path: string) {
      paths.add(path);
      soon();
    },
    everything() {
      isEverything = true;
      soon();
    },
  };
}

/** The parts of an address. What belongs to whoever is signed in is known as `me`. */
export function keyOf(path: string, me: string | undefined): string[] {
  const [first = '', second, ...rest] = path.slice(1).split('/').map(decodeURIComponent);
  if (first === 'users' && second === me) return ['me', ...rest];
  return [first, ...(second === undefined ? [] : [second]), ...rest];
}

/**
 * Whether a change at an address concerns a query: it is at that address or below it, or it is the list, however it is filtered. The installation as a whole has lists
 * and sums of its own.
 */
export function concerns(changed: readonly string[], query: QueryKey): boolean {
  if (query[0] === 'installation') {
    const parts = partsOfInstallation(changed);
    return parts.length > 0 && (query[1] === undefined || parts.some((part) => part === query[1]));
  }
  const end = query.findIndex((part) => typeof part !== 'string');
  const address = end < 0 ? query : query.slice(0, end);
  const isAt = (of: readonly string[]) => of.every((part, n) => address[n] === part);
  return isAt(changed) || (address.length === changed.length - 1 && isAt(changed.slice(0, -1)));
}

/** Which parts of the installation a change is told by. What is measured, such as its health, is told by none (installation-queries.ts). */
function partsOfInstallation([kind, , part]: readonly string[]): readonly string[] {
  if (kind === 'me' || kind === 'users') return ['users'];
  if (kind === 'organizations') return ['organizations', 'users'];
  // What an environment is given counts for its organization and for the machine.
  return kind === 'projects' && (part === undefined || part === 'environments') ? ['resources', 'organizations'] : [];
}
