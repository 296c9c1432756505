/** Takes traces from containers, for as long as this process has the machine: what they report becomes records, and their apps are noted as reporting themselves. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Metrics } from '../../drivers/metrics/metrics.ts';
import { openReporterTokens, type Reporter } from '../../drivers/otlp/reporter.ts';
import type { SpanGroup } from '../../drivers/otlp/span.ts';
import type { Listener } from '../../kernel/listener.ts';
import type { Platform } from '../../platform.ts';
import { otlpEndpoint, type Rejected, type SpanIntake } from './otlp-endpoint.ts';
import { openReportMemory, recordsOf, type ReportMemory } from './otlp-records.ts';
import { openReporters } from './otlp-reporters.ts';
import { type OwnReports, ownReportsOf } from './own-reports.ts';
import { openSpanRates, type SpanRates } from './span-rates.ts';

export const takeTraces: Listener = {
  name: 'traces',
  async listen(platform, signal) {
    const ownReports = ownReportsOf(platform.db);
    const server = openOtlpEndpoint(platform, ownReports);
    const sharing = shareUntil(platform, ownReports, signal);
    try {
      if (!(await listening(platform, server, signal))) return;
      const port = platform.config.tracesPort;
      await (await platform.machine()).runtime.admit({ purpose: 'traces', port, as: port, whileNobodyListens: 'refuse' });
      await aborted(signal);
    } finally {
      server.close();
      server.closeAllConnections();
      await sharing;
    }
  },
};

export const openOtlpEndpoint = ({ db, secrets, metrics, log }: Platform, ownReports: OwnReports): Server =>
  otlpEndpoint({
    reporters: openReporters(db, openReporterTokens(secrets)),
    intake: openSpanIntake({ metrics, ownReports, rates: openSpanRates(), memory: openReportMemory() }),
    log,
  });

export interface SpanIntakeParts {
  metrics: Pick<Metrics, 'append'>;
  ownReports: Pick<OwnReports, 'note'>;
  rates: SpanRates;
  memory: ReportMemory;
}

export const openSpanIntake = ({ metrics, ownReports, rates, memory }: SpanIntakeParts): SpanIntake => ({
  hasRoom: (reporter) => !rates.isSpent(environmentOf(reporter)),
  take(groups, reporter) {
    const sent = groups.reduce((sum, { spans }) => sum + spans.length, 0);
    const taken = rates.take(environmentOf(reporter), sent);
    const { transactions, spans, untimely } = recordsOf(taken === sent ? groups : firstOf(groups, taken), reporter, memory);
    metrics.append('transactions', transactions);
    metrics.append('spans', spans);
    if (transactions.some(({ context }) => context === 'web')) ownReports.note(scopeOf(reporter), reporter.application);
    return rejectedOf(sent - taken, untimely);
  },
});

const environmentOf = ({ project, environment }: Reporter) => `${project} ${environment}`;
const scopeOf = ({ project, environment }: Reporter) => ({ project, environment });

function firstOf(groups: readonly SpanGroup[], most: number): SpanGroup[] {
  let left = most;
  return groups.map(({ spans, ...group }) => {
    const first = spans.slice(0, left);
    left -= first.length;
    return { ...group, spans: first };
  });
}

function rejectedOf(tooMany: number, untimely: number): Rejected {
  const sentences = [
    tooMany > 0 ? 'The environment reports more spans than are taken; sample them.' : '',
    untimely > 0 ? 'Spans are taken within an hour of their start.' : '',
  ];
  return { spans: tooMany + untimely, sentence: sentences.filter(Boolean).join(' ') };
}

const tryAgainMilliseconds = 10_000;

/** Waits for the port where somebody has it, such as the process that had the machine before. False: there is no need any more. */
async function listening({ config: { tracesPort }, log }: Platform, server: Server, signal: AbortSignal): Promise<boolean> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      server.listen({ host: '0.0.0.0', port: tracesPort });
      await once(server, 'listening', { signal });
      return true;
    } catch (error) {
      if (signal.aborted) break;
      if (attempt === 0)
        log.warn({ error, port: tracesPort }, 'traces of apps cannot be taken, because the port is not free; it is tried again');
      await sleep(tryAgainMilliseconds, undefined, { signal }).catch(() => {});
    }
  }
  return false;
}

const shareMilliseconds = 30_000;

async function shareUntil({ log }: Platform, ownReports: OwnReports, signal: AbortSignal) {
  while (!signal.aborted) {
    await ownReports
      .share()
      .catch((error: unknown) => log.warn({ error }, 'which apps report traces could not be written down; it is tried again'));
    await sleep(shareMilliseconds, undefined, { signal }).catch(() => {});
  }
  await ownReports.share().catch(() => {});
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
