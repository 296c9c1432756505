import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metricsConformance, type MetricsBounds, type MetricsUnderTest } from './conformance.ts';
import { openDuckdbMetrics } from './duckdb/open-duckdb-metrics.ts';

async function openInScratch({ summedUp = false, recordsMax = 1e6 }: MetricsBounds): Promise<MetricsUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-metrics-'));
  const metrics = openDuckdbMetrics({
    folder,
    recordsMax,
    exactRecordsMax: summedUp ? 0 : 1e6,
    blockRecordsMin: 1,
    runRecords: 1000,
    freeBytesMin: 0,
    tidyMilliseconds: summedUp ? 50 : 10_000,
    collectMilliseconds: 10,
    memoryBytes: 2e8,
  });
  return {
    metrics,
    kill: () => process.kill(metrics.pid() ?? 0, 'SIGKILL'),
    remove: async () => {
      await metrics.close();
      await rm(folder, { recursive: true });
    },
  };
}

metricsConformance('DuckDB', openInScratch);
