/** A process that serves the API says so again and again: the edge is told by the process that has the machine, which may be another. */
import { nudge } from '../../kernel/reconciler.ts';
import type { Platform } from '../../platform.ts';
import { forgetApiProcess, noteApiProcess } from './api-processes.ts';
import { keepPlatformReached } from './keep-reached.ts';

const everySeconds = 10;

/** Until it is closed. */
export async function announceApi({ db, log, config }: Pick<Platform, 'db' | 'log' | 'config'>): Promise<{ close(): Promise<void> }> {
  const here = { host: config.apiHost, port: config.port };
  await noteApiProcess(db, here);
  await nudge(db, keepPlatformReached);
  const noteAgain = () =>
    noteApiProcess(db, here).catch((err: unknown) => log.warn({ err }, 'it could not be noted that the API is served here; trying again'));
  const timer = setInterval(() => void noteAgain(), everySeconds * 1000);
  return {
    close: async () => {
      clearInterval(timer);
      await forgetApiProcess(db, here);
      await nudge(db, keepPlatformReached);
    },
  };
}
