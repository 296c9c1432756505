/** What this process knows by itself, without asking anybody. Names of processes are those that every program tells Prometheus. */
import { kinds } from '../../drivers/metrics/metrics.ts';
import { gauge, type Family } from '../../kernel/instruments.ts';
import type { Platform } from '../../platform.ts';

const microsecond = 1e-6;

export function processFamilies(): Family[] {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return [
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time of this process.',
      type: 'counter',
      samples: [{ value: (user + system) * microsecond }],
    },
    gauge('process_resident_memory_bytes', 'Memory of this process.', rss),
    gauge('process_start_time_seconds', 'When this process was started.', Math.round(performance.timeOrigin) / 1000),
    gauge('offshoot_heap_used_bytes', 'Memory of this process that holds its values.', heapUsed),
  ];
}

export function measurementFamilies({ metrics }: Platform): Family[] {
  const { kinds: tallies, trouble, starts } = metrics.status();
  const byKind = (of: 'stored' | 'waiting' | 'dropped') => kinds.map((kind) => ({ labels: { kind }, value: tallies[kind][of] }));
  return [
    {
      name: 'offshoot_measurements_stored_total',
      help: 'Records of measurements that this process has stored.',
      type: 'counter',
      samples: byKind('stored'),
    },
    {
      name: 'offshoot_measurements_dropped_total',
      help: 'Records of measurements that were given up.',
      type: 'counter',
      samples: byKind('dropped'),
    },
    gauge('offshoot_measurements_waiting', 'Records of measurements that are not stored yet.', byKind('waiting')),
    gauge('offshoot_measurements_trouble', 'Whether the store of measurements takes no records.', trouble === undefined ? 0 : 1),
    {
      name: 'offshoot_measurements_starts_total',
      help: 'How often the process of the store was started.',
      type: 'counter',
      samples: [{ value: starts }],
    },
  ];
}
