/** Whether a platform that was started works: it answers at its own port, and goes on doing so for a moment without being started again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { reachable, type Config } from '../../server/config.ts';
import { healthPath } from '../../server/kernel/health.ts';
import { platformUnit } from './unit-files.ts';
import type { ServiceManager } from './service-manager.ts';

export interface Patience {
  /** How long the platform may take to answer, once it says that it is ready. */
  answerSecondsMax: number;
  /** How long it has to keep running. */
  lastingSeconds: number;
}

export const usualPatience: Patience = { answerSecondsMax: 300, lastingSeconds: 5 };
const startsMax = 2;
const lookMilliseconds = 250;
const probeMillisecondsMax = 20_000;

/** Throws a sentence, with the last words of the platform. */
export async function startHealthy(manager: ServiceManager, config: Config, patience: Patience): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await manager.start(platformUnit);
      return await untilHealthy(manager, config, patience);
    } catch (error) {
      // What was in the way, such as a port that the platform before it still had, may be gone.
      if (attempt === startsMax) throw error;
    }
  }
}

async function untilHealthy(manager: ServiceManager, config: Config, { answerSecondsMax, lastingSeconds }: Patience): Promise<void> {
  const startedAs = await manager.runningAs(platformUnit);
  const deadline = performance.now() + answerSecondsMax * 1000;
  let answersSince: number | undefined;
  while (answersSince === undefined || performance.now() - answersSince < lastingSeconds * 1000) {
    if (startedAs === undefined || (await manager.runningAs(platformUnit)) !== startedAs)
      throw new Error(`The platform started and ended again; journalctl --unit ${platformUnit} tells why.`);
    if (await answers(config)) answersSince ??= performance.now();
    else answersSince = undefined;
    if (answersSince === undefined && performance.now() > deadline)
      throw new Error(`The platform does not answer at ${localUrl(config)}; journalctl --unit ${platformUnit} may tell why.`);
    await sleep(lookMilliseconds);
  }
}

/** Whether the platform that runs now is healthy. */
export const isHealthy = async (manager: ServiceManager, config: Config): Promise<boolean> =>
  (await manager.runningAs(platformUnit)) !== undefined && (await answers(config));

/** The platform is asked directly: OFFSHOOT_URL may lead through somebody else's proxy. */
const localUrl = ({ apiHost, port }: Config) => `http://${reachable(apiHost)}:${port}`;

async function answers(config: Config): Promise<boolean> {
  try {
    const reply = await fetch(`${localUrl(config)}${healthPath}`, { signal: AbortSignal.timeout(probeMillisecondsMax) });
    await reply.arrayBuffer();
    // A version that knows nothing of this path says so, and has answered.
    return reply.status < 500;
  } catch {
    return false;
  }
}
