/**
 * Records of what a container reported: transactions, and the spans below them with the dimensions of their transaction. Batches come in any order; a span whose
 * transaction does not come within a minute is left out.
 */
import type { SpanRecord, TransactionRecord } from '../../drivers/metrics/metrics.ts';
import type { Reporter } from '../../drivers/otlp/reporter.ts';
import { attributeOf, type Span, type SpanGroup } from '../../drivers/otlp/span.ts';
import { type Admits, type DistinctValues, openDistinctValues } from './distinct-values.ts';
import {
  cut,
  frameworkOf,
  isTransaction,
  processDimensions,
  type ProcessDimensions,
  transactionOf,
  wallTimeOf,
} from './otlp-transaction.ts';
import { openRecentTraces, type RecentTraces } from './recent-traces.ts';

export interface Reported {
  transactions: TransactionRecord[];
  spans: SpanRecord[];
  /** Spans that were not taken, because their time cannot be right. */
  untimely: number;
}

export interface ReportMemory {
  traces: RecentTraces;
  values: DistinctValues;
}

/** As many names of transactions, hosts or spans as an environment may have in a day. */
export const distinctValuesMax = 2000;

export const openReportMemory = (now: () => number = Date.now): ReportMemory => ({
  traces: openRecentTraces(undefined, now),
  values: openDistinctValues(distinctValuesMax, now),
});

/** Containers have the clock of their machine; exporters try again for some minutes. */
const lateMillisecondsMax = 60 * 60 * 1000;
const earlyMillisecondsMax = 60 * 1000;

export function recordsOf(groups: readonly SpanGroup[], reporter: Reporter, memory: ReportMemory, now = Date.now()): Reported {
  const reported: Reported = { transactions: [], spans: [], untimely: 0 };
  const environment = `${reporter.project} ${reporter.environment}`;
  const batch: Batch = {
    reporter,
    environment,
    traces: memory.traces,
    admits: memory.values.of(environment),
    reported,
    transactions: new Map(),
    parents: new Map(),
    frameworks: new Map(),
  };
  const parts: Span[] = [];
  const timely = groups.map(({ spans, ...group }) => ({ ...group, spans: spans.filter((span) => isTimely(span, now)) }));
  reported.untimely = spanCount(groups) - spanCount(timely);
  for (const group of timely) noteGroup(batch, group);
  for (const { resource, library, spans } of timely) {
    const process = knownProcess(batch.admits, processDimensions(resource, library, reporter));
    for (const span of spans) {
      if (isTransaction(span)) addTransaction(batch, span, process);
      else parts.push(span);
    }
  }
  for (const span of parts) addPart(batch, span);
  return reported;
}

const spanCount = (groups: readonly SpanGroup[]) => groups.reduce((sum, { spans }) => sum + spans.length, 0);

const isTimely = ({ start }: Span, now: number) => start > now - lateMillisecondsMax && start < now + earlyMillisecondsMax;

/** What is known while one request is turned into records. */
interface Batch {
  reporter: Reporter;
  environment: string;
  traces: RecentTraces;
  admits: Admits;
  reported: Reported;
  /** By the id of their span. */
  transactions: Map<string, TransactionRecord>;
  parents: Map<string, string>;
  /** By trace. Where the server's span comes from a library of the language, only the spans below it tell the framework. */
  frameworks: Map<string, string>;
}

function noteGroup({ parents, frameworks }: Batch, { library, spans }: SpanGroup) {
  const framework = frameworkOf(library);
  for (const { id, parent, trace } of spans) {
    parents.set(id, parent);
    if (framework !== '') frameworks.set(trace, framework);
  }
}

/** The same trace can pass several containers, each of which has a transaction of its own in it. */
const traceIn = ({ instance }: Reporter, trace: string) => `${instance} ${trace}`;

function addTransaction(batch: Batch, span: Span, process: ProcessDimensions) {
  const { reporter, environment, traces, admits, reported, transactions, frameworks } = batch;
  const transaction = transactionOf(span, process);
  if (transaction.framework === '') transaction.framework = frameworks.get(span.trace) ?? '';
  if (transaction.transaction !== undefined && !admits('transaction', transaction.transaction)) transaction.transaction = undefined;
  if (!admits('httpHost', transaction.httpHost)) transaction.httpHost = '';
  transactions.set(span.id, transaction);
  reported.transactions.push(transaction);
  for (const part of traces.met(environment, traceIn(reporter, span.trace), transaction))
    reported.spans.push(spanRecord(batch, part, transaction));
}

const boundedTexts = ['host', 'framework', 'language', 'runtime', 'os'] as const satisfies readonly (keyof ProcessDimensions)[];

/** Values beyond what the environment may have are left out. */
function knownProcess(admits: Admits, process: ProcessDimensions): ProcessDimensions {
  const known = { ...process };
  for (const text of boundedTexts) if (!admits(text, known[text])) known[text] = '';
  return known;
}

const ancestorsMax = 100;

/** The transaction above the span in the same batch; otherwise that of its trace. */
function addPart(batch: Batch, span: Span) {
  const { reporter, environment, traces, reported, transactions, parents } = batch;
  let above: string | undefined = span.parent;
  for (let steps = 0; steps < ancestorsMax && above !== undefined && above !== ''; steps++) {
    const transaction = transactions.get(above);
    if (transaction) return void reported.spans.push(spanRecord(batch, span, transaction));
    above = parents.get(above);
  }
  const transaction = traces.transactionOf(environment, traceIn(reporter, span.trace), span);
  if (transaction) reported.spans.push(spanRecord(batch, span, transaction));
}

/** What spans are called whose own name is one too many. */
const otherSpans = '(other)';

function spanRecord({ admits, reporter }: Batch, span: Span, transaction: TransactionRecord): SpanRecord {
  const admitted = (respect: string, value: string) => (admits(respect, value) ? value : otherSpans);
  const label = admitted('span', cut(span.name) || span.kind);
  return {
    ...transaction,
    time: span.start,
    trace: span.trace,
    span: label,
    label,
    service: admitted('service', cut(String(attributeOf(span.attributes, 'peer') ?? reporter.application))),
    spanTime: wallTimeOf(span),
  };
}
