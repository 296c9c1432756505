/**
 * A limit that parties share, such as on builds: so many at once in this process, and never all of them for one party.
 *
 * Whoever asks says on whose behalf, from the outside in: a party, and perhaps one within it. Each may hold only so many, and always fewer than there are
 * outside of it: whoever a party would leave out finds a place at once, however long the others stay. Where several parties together have taken them all, there are
 * some more, of which a party that holds none gets one: it takes many greedy parties, and not two, to keep another one waiting. Nobody is interrupted. A free place
 * goes to the party that holds least, then to the one that had its turn longest ago; within a party to what is urgent, then to the part that holds least, then to
 * who came first.
 */
export interface Asking {
  /** On whose behalf it asks, from the outside in; each name belongs to one party alone. */
  parties: readonly string[];
  /** A part of the innermost party, such as one of its projects: its parts take turns. Where there are none, it has no name. */
  part?: string;
  isUrgent?: boolean;
  /** What the innermost party may hold where that is less than what anybody may. */
  most?: number | undefined;
  signal?: AbortSignal;
  /** Called once, where the asker has to wait. */
  onWait?: () => void;
}

export interface FairLimit {
  /** Waits for a place, and answers how to leave it; leaving twice is leaving once. Throws the signal's reason where that is aborted before. */
  enter(asking: Asking): Promise<() => void>;
  /** Has a place while `work` lasts. */
  within<T>(asking: Asking, work: () => Promise<T>): Promise<T>;
}

export interface FairLimitOptions {
  total: number;
  /** What a party may hold, from the outside in. */
  most: readonly number[];
  /** Beyond the total: one place each for so many of the outermost parties, where they hold none. */
  newcomers: number;
}

/**
 * As many for the innermost of two parties as are given, one more for all that one outer party has, and one more in all: a party alone is not slowed down by those
 * who are not there, and whoever comes finds a place that it cannot have. Several outer parties may have taken them all: then there is one for each of as many
 * newcomers.
 */
export const withReserve = (most: number): FairLimitOptions => ({ total: most + 2, most: [most + 1, most], newcomers: most + 2 });

interface Waiting {
  asking: Asking;
  names: readonly string[];
  /** The line in which it stands: of all whom only their arrival tells apart. */
  line: string;
  arrival: number;
  begin: () => void;
}

export function fairLimit({ total, most, newcomers }: FairLimitOptions): FairLimit {
  const lines = openLines();
  const book = openBook();
  let taken = 0;
  let arrivals = 0;

  const totalFor = ([outermost = '']: readonly string[]) => (book.held(outermost) === 0 ? total + newcomers : total);
  const mayBegin = ({ parties, most: own = Infinity }: Asking) =>
    taken < totalFor(parties) &&
    parties.every((party, level) => book.held(party) < Math.min(most[level] ?? Infinity, level === parties.length - 1 ? own : Infinity));

  const take = (names: readonly string[]) => {
    taken += 1;
    for (const name of names) book.take(name);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      taken -= 1;
      for (const name of names) book.leave(name);
      letIn();
    };
  };

  const next = () => {
    let first: Waiting | undefined;
    if (taken >= total + newcomers) return first;
    for (const each of lines.heads()) {
      if (mayBegin(each.asking) && (first === undefined || precedence(book, each, first) < 0)) first = each;
    }
    return first;
  };
  const letIn = () => {
    for (let first = next(); first; first = next()) {
      lines.remove(first);
      first.begin();
    }
  };

  const waitFor = (asking: Asking, names: readonly string[]): Promise<() => void> => {
    const { signal, onWait } = asking;
    onWait?.();
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        lines.remove(mine);
        names.forEach(book.stopWaiting);
        reject(signal?.reason as Error);
      };
      const begin = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve(take(names));
        names.forEach(book.stopWaiting);
      };
      const mine = { asking, names, line: lineOf(asking, names), arrival: (arrivals += 1), begin };
      names.forEach(book.wait);
      lines.add(mine);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  };

  const enter = (asking: Asking): (() => void) | Promise<() => void> => {
    asking.signal?.throwIfAborted();
    const names = namesOf(asking);
    // Whoever waits and may begin has begun already, so nobody is passed here.
    return mayBegin(asking) ? take(names) : waitFor(asking, names);
  };

  return {
    enter: async (asking) => enter(asking),
    within: async (asking, work) => {
      const leave = await enter(asking);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

/**
 * Those who wait, in lines of those whom only their arrival tells apart. Only the first of a line can be next, so that a crowd of one party costs no more
 * than one of it.
 */
function openLines() {
  const lines = new Map<string, Set<Waiting>>();
  return {
    *heads(): Iterable<Waiting> {
      for (const [first] of lines.values()) if (first) yield first;
    },
    add(one: Waiting) {
      const line = lines.get(one.line);
      if (line) line.add(one);
      else lines.set(one.line, new Set([one]));
    },
    remove(one: Waiting) {
      const line = lines.get(one.line);
      line?.delete(one);
      if (line?.size === 0) lines.delete(one.line);
    },
  };
}

const lineOf = ({ isUrgent = false, most }: Asking, names: readonly string[]) => `${names.join('\n')}\n${isUrgent} ${most}`;

const namesOf = ({ parties, part }: Asking) => (part === undefined ? parties : [...parties, `part ${parties.at(-1) ?? ''} ${part}`]);

interface Entry {
  held: number;
  waiting: number;
  /** The number of the turn in which it last got a place. */
  servedAt: number;
}

type Book = ReturnType<typeof openBook>;

/** What is known of each party and part that holds a place, or waits for one; others are forgotten. */
function openBook() {
  const entries = new Map<string, Entry>();
  let turns = 0;
  const entryOf = (name: string) => {
    const known = entries.get(name);
    if (known) return known;
    const fresh = { held: 0, waiting: 0, servedAt: 0 };
    entries.set(name, fresh);
    return fresh;
  };
  const change = (name: string, held: number, waiting: number) => {
    const entry = entryOf(name);
    entry.held += held;
    entry.waiting += waiting;
    if (held > 0) entry.servedAt = turns += 1;
    if (entry.held + entry.waiting === 0) entries.delete(name);
  };
  return {
    held: (name: string) => entries.get(name)?.held ?? 0,
    servedAt: (name: string) => entries.get(name)?.servedAt ?? 0,
    take: (name: string) => change(name, 1, 0),
    leave: (name: string) => change(name, -1, 0),
    wait: (name: string) => change(name, 0, 1),
    stopWaiting: (name: string) => change(name, 0, -1),
  };
}

/** Negative: `one` comes first. */
function precedence(book: Book, one: Waiting, other: Waiting): number {
  const outside = one.asking.parties.map((party, level) => between(book, party, other.asking.parties[level] ?? ''));
  const [mine = '', theirs = ''] = [one.names.at(-1), other.names.at(-1)];
  const urgency = Number(other.asking.isUrgent ?? false) - Number(one.asking.isUrgent ?? false);
  return outside.find((order) => order !== 0) ?? (urgency || between(book, mine, theirs) || one.arrival - other.arrival);
}

const between = (book: Book, one: string, other: string) =>
  one === other ? 0 : book.held(one) - book.held(other) || book.servedAt(one) - book.servedAt(other);
