/**
 * Traces of the last minute, in bounded memory. A part of a request is told to us before the request itself, which ends last, and often in another batch;
 * it waits here for its transaction, whose dimensions it gets. Where there are too many, the environment that has most loses its oldest.
 */
import type { TransactionRecord } from '../../drivers/metrics/metrics.ts';
import type { Span } from '../../drivers/otlp/span.ts';

export interface RecentTraces {
  /** Notes the transaction of a trace, and gives the spans that have waited for it. */
  met(environment: string, trace: string, transaction: TransactionRecord): Span[];
  /** The transaction of the trace that the span is a part of, if it is known; otherwise the span waits. */
  transactionOf(environment: string, trace: string, span: Span): TransactionRecord | undefined;
}

interface Trace {
  since: number;
  transaction: TransactionRecord | undefined;
  waiting: Span[];
}

interface OfEnvironment {
  /** In the order in which they were first heard of. */
  traces: Map<string, Trace>;
  /** Traces, and spans that wait. */
  items: number;
}

export const recentBounds = { milliseconds: 60_000, items: 60_000 };

export function openRecentTraces(bounds = recentBounds, now: () => number = Date.now): RecentTraces {
  const environments = new Map<string, OfEnvironment>();
  let items = 0;
  const count = (environment: OfEnvironment, more: number) => {
    environment.items += more;
    items += more;
  };
  const forgetWhile = (name: string, environment: OfEnvironment, isOver: (oldest: Trace) => boolean) => {
    for (const [id, trace] of environment.traces) {
      if (!isOver(trace)) break;
      environment.traces.delete(id);
      count(environment, -1 - trace.waiting.length);
    }
    if (environment.traces.size === 0) environments.delete(name);
  };
  const keepBounds = (name: string, environment: OfEnvironment) => {
    forgetWhile(name, environment, ({ since }) => now() - since > bounds.milliseconds);
    if (items <= bounds.items) return;
    const [largest] = [...environments].toSorted(([, a], [, b]) => b.items - a.items);
    // A tenth is forgotten at once, so that the largest is not looked for with every span.
    if (largest) forgetWhile(...largest, () => items > bounds.items * 0.9);
  };
  const traceOf = (name: string, id: string): [OfEnvironment, Trace] => {
    const environment = environments.get(name) ?? { traces: new Map<string, Trace>(), items: 0 };
    environments.set(name, environment);
    const known = environment.traces.get(id);
    if (known) return [environment, known];
    const trace: Trace = { since: now(), transaction: undefined, waiting: [] };
    environment.traces.set(id, trace);
    count(environment, 1);
    return [environment, trace];
  };
  return {
    met(name, id, transaction) {
      const [environment, trace] = traceOf(name, id);
      const spans = trace.waiting;
      count(environment, -spans.length);
      trace.waiting = [];
      trace.transaction = transaction;
      keepBounds(name, environment);
      return spans;
    },
    transactionOf(name, id, span) {
      const [environment, trace] = traceOf(name, id);
      if (trace.transaction) return trace.transaction;
      trace.waiting.push(span);
      count(environment, 1);
      keepBounds(name, environment);
      return undefined;
    },
  };
}
