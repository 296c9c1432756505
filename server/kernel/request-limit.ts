/**
 * What one caller may ask for at once. A request has a place while it is loaded and handled, which is when it uses the database: whoever floods the API with
 * requests, however expensive they are, waits for their own, and leaves connections to everybody else.
 */
import type { Caller } from '../platform.ts';
import { fairLimit } from './fair-limit.ts';
import { tally } from './limits.ts';
import type { Outside } from './operation.ts';
import { Problem } from './problem.ts';

/** For one caller fewer than there are connections to the database (sql.ts); for all callers more, as requests do not spend all of their time there. */
const handledMax = { total: 24, ofOne: 5 };
const waitingOfOneMax = 500;
const streamsOfOneMax = 100;

export interface RequestLimit {
  /** Throws a Problem where too many requests of the caller wait. A request without a caller is let through. */
  within<T>(caller: Caller | undefined, work: (outside: Outside) => Promise<T>): Promise<T>;
  /** For a reply that is sent line by line, perhaps for hours; answers what to call at its end. */
  openStream(caller: Caller | undefined): () => void;
}

export function openRequestLimit(): RequestLimit {
  // Requests are short: a caller who has no place gets the next one soon enough.
  const places = fairLimit({ total: handledMax.total, most: [handledMax.ofOne], newcomers: 0 });
  const [requests, streams] = [atMost(handledMax.ofOne + waitingOfOneMax), atMost(streamsOfOneMax)];

  const enter = async ({ id }: Caller) => {
    const end = requests.begin(id, `You have ${waitingOfOneMax} requests waiting already; send fewer at once.`);
    const leave = await places.enter({ parties: [id] });
    return () => {
      leave();
      end();
    };
  };
  return {
    async within(caller, work) {
      if (!caller) return work((wait) => wait());
      let leave = await enter(caller);
      const outside: Outside = async (wait) => {
        leave();
        leave = () => {};
        const waitedFor = await wait();
        leave = await enter(caller);
        return waitedFor;
      };
      try {
        return await work(outside);
      } finally {
        leave();
      }
    },
    openStream: (caller) =>
      caller ? streams.begin(caller.id, `You are following ${streamsOfOneMax} logs already; stop following one first.`) : () => {},
  };
}

function atMost(most: number) {
  const underWay = tally();
  return {
    begin(of: string, sentence: string): () => void {
      if (underWay.of(of) >= most) throw new Problem('too-many-requests', sentence);
      return underWay.add(of);
    },
  };
}
