/** How late the thread of this process is: what keeps it from its work keeps everybody waiting. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Family } from '../../kernel/instruments.ts';

const resolutionMilliseconds = 20;
const nanoseconds = 1e9;
const percentiles = [50, 90, 99];

export function openEventLoopWatch() {
  const delays = monitorEventLoopDelay({ resolution: resolutionMilliseconds });
  delays.enable();
  return {
    /** Since they were last asked for. */
    families: (): Family[] => {
      const late = (delay: number) => (Number.isFinite(delay) ? Math.max(0, delay / nanoseconds - resolutionMilliseconds / 1000) : 0);
      const values = [
        ...percentiles.map((percentile) => [`p${percentile}`, delays.percentile(percentile)] as const),
        ['max', delays.max] as const,
      ];
      const samples = values.map(([rank, delay]) => ({ labels: { rank }, value: late(delay) }));
      delays.reset();
      return [
        { name: 'offshoot_event_loop_delay_seconds', help: 'How late this process was, since it was last asked.', type: 'gauge', samples },
      ];
    },
    close: () => delays.disable(),
  };
}
