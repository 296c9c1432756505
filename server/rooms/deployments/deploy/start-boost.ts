/**
 * Starting takes a processor for a moment, and somebody waits for it; running takes what the size says. So containers start with at least one, and get
 * their own limits once they are ready. Limits change in place and do not make a container another one.
 */
import type { Container, Runtime } from '../../../drivers/runtime/runtime.ts';

const startCpuMin = 1;

/** Starts the container and waits until it is ready, or until the signal is aborted. */
export async function startBoosted(runtime: Runtime, container: Container, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const callOff = () => void runtime.remove(container.name).catch(() => {});
  signal?.addEventListener('abort', callOff, { once: true });
  try {
    await runtime.ensure({ ...container, limits: { ...container.limits, cpu: Math.max(container.limits.cpu, startCpuMin) } });
  } finally {
    signal?.removeEventListener('abort', callOff);
  }
}

export async function endBoost(runtime: Runtime, { name, limits }: Pick<Container, 'name' | 'limits'>): Promise<void> {
  if (limits.cpu < startCpuMin) await runtime.update(name, limits);
}
