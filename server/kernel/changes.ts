/**
 * What changes, for those who watch. Triggers tell each change when it commits (notices.ts): what the thing is, where it is and whose it is, and nothing
 * that is in it. Here changes of the same thing are put together for a moment, numbered by the time, and kept for a while, so that a watcher whose
 * connection broke goes on from where it was. A watcher that lost some, or does not keep up, is told so, and has to look at everything again.
 */
import { randomBytes } from 'node:crypto';
import type { Scope } from '../platform.ts';
import { tally } from './limits.ts';
import type { Notices } from './notices.ts';

export interface Change {
  kind: string;
  /** The address of the thing, in parts. */
  segments: readonly string[];
  scope: Scope;
}

interface NumberedChange extends Change {
  /** The moment at which it was handed on; changes of one moment are told together. */
  at: number;
}

export interface Watch {
  /** What came since the last call, and the position after it; `hasLost`: some may be missing. */
  take(): { changes: readonly Change[]; hasLost: boolean; position: string };
  /** Until there is something to take, the next heartbeat, or the end. */
  wait(): Promise<void>;
  end(): void;
}

export interface ChangeHub {
  /** For a person, from a position that `take` told earlier, or from now on. */
  watch(person: string, position: string | undefined): Watch;
  /** How many watch for a person here. */
  watchingFor(person: string): number;
  close(): void;
}

const gatherMilliseconds = 200;
const heartbeatSeconds = 20;
const keptMax = 2000;
const waitingOfOneMax = 500;

export function openChangeHub(notices: Pick<Notices, 'on'>): ChangeHub {
  const origin = randomBytes(6).toString('hex');
  const watchers = new Set<Watcher>();
  const people = tally();
  let gathered = new Map<string, Change>();
  let gathering: NodeJS.Timeout | undefined;
  /** The last changes, oldest first: all of those since `keptSince`. */
  let kept: NumberedChange[] = [];
  let keptSince = now();

  const handOn = () => {
    gathering = undefined;
    const at = now();
    const fresh = [...gathered.values()].map((change) => ({ ...change, at }));
    gathered = new Map();
    kept.push(...fresh);
    if (kept.length > 2 * keptMax) {
      kept = kept.slice(-keptMax);
      keptSince = (kept[0]?.at ?? at) + 1;
    }
    for (const watcher of watchers) watcher.hear(fresh);
  };
  const loseSome = () => {
    kept = [];
    keptSince = now() + 1;
    for (const watcher of watchers) watcher.lose();
  };
  const stopListening = notices.on('change', (text) => {
    if (text === undefined) return loseSome();
    gathered.set(text, JSON.parse(text) as Change);
    gathering ??= setTimeout(handOn, gatherMilliseconds).unref();
  });
  const heartbeat = setInterval(() => watchers.forEach((watcher) => watcher.wake()), heartbeatSeconds * 1000).unref();

  return {
    watch(person, position) {
      const [from, since] = (position ?? '').split('-', 2);
      const isKnown = from === origin && Number(since) >= keptSince;
      const endCount = people.add(person);
      const watcher = openWatcher(origin, () => {
        watchers.delete(watcher);
        endCount();
      });
      watchers.add(watcher);
      // Changes of one moment may have been told in part, so that moment is told again.
      if (isKnown) watcher.hear(kept.filter(({ at }) => at >= Number(since)));
      else watcher.lose();
      return watcher;
    },
    watchingFor: people.of,
    close() {
      stopListening();
      clearInterval(heartbeat);
      clearTimeout(gathering);
    },
  };
}

/** Never goes back, whatever happens to the clock of the machine. */
const now = () => Math.floor(performance.timeOrigin + performance.now());

interface Watcher extends Watch {
  hear(changes: readonly NumberedChange[]): void;
  lose(): void;
  wake(): void;
}

/** What waits for a slow reader is bounded: things that change again take no more room, and where there are too many, all of them are given up. */
function openWatcher(origin: string, onEnd: () => void): Watcher {
  const waiting = new Map<string, NumberedChange>();
  let [hasLost, isOver] = [false, false];
  let wake = () => {};
  const watcher: Watcher = {
    hear(changes) {
      for (const change of changes) waiting.set(`${change.kind} ${change.segments.join('\0')}`, change);
      if (waiting.size > waitingOfOneMax) watcher.lose();
      else if (changes.length > 0) wake();
    },
    lose() {
      waiting.clear();
      hasLost = true;
      wake();
    },
    wake: () => wake(),
    take() {
      const taken = { changes: [...waiting.values()], hasLost, position: `${origin}-${now()}` };
      waiting.clear();
      hasLost = false;
      return taken;
    },
    async wait() {
      if (waiting.size > 0 || hasLost || isOver) return;
      await new Promise<void>((settle) => (wake = settle));
    },
    end() {
      isOver = true;
      onEnd();
      wake();
    },
  };
  return watcher;
}
