/** Finds the services of an environment that have logs, as they come and go, and has what each writes sent. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { keepLooking, type Looking } from '../logs/keep-looking.ts';
import { listLogs, logFile } from '../logs/log-folders.ts';
import { followedLogs, type Followed } from './collect-batch.ts';
import { endOfTail } from './log-tail.ts';
import type { Positions } from './positions.ts';

export interface Following {
  logs: string;
  excluded: ReadonlySet<string>;
  positions: Positions;
  /** Reads what is new in the logs of a service, as much as goes at once, and has it sent. Answers whether there was something; must not throw. */
  sendNext(followed: Followed): Promise<boolean>;
}

export function followServices(following: Following): { close(): Promise<void> } {
  const { logs, excluded } = following;
  const looking = new Map<string, Looking>();
  /** Services that are gone and whose last batch is still under way. */
  const leaving = new Set<Promise<void>>();
  const leave = (service: string, each: Looking) => {
    looking.delete(service);
    const left = each.close().finally(() => leaving.delete(left));
    leaving.add(left);
  };
  const look = async (): Promise<boolean> => {
    const services: string[] = await readdir(logs).catch(() => []);
    const found = services.filter((service) => !looking.has(service) && !excluded.has(service));
    for (const service of found) {
      const followed = followedLogs(logs, service);
      looking.set(
        service,
        keepLooking(join(logs, service), () => sendNews(followed, following)),
      );
    }
    for (const [service, each] of looking) if (!services.includes(service)) leave(service, each);
    await tidyPositions(following);
    return found.length > 0;
  };
  const scanning = keepLooking(logs, () => look().catch(() => false));
  return {
    async close() {
      await scanning.close();
      for (const [service, each] of looking) leave(service, each);
      await Promise.all(leaving);
    },
  };
}

/** Sends until there is nothing new. */
async function sendNews(followed: Followed, { sendNext }: Following): Promise<boolean> {
  for (let isNew = false; ; isNew = true) if (!(await sendNext(followed))) return isNew;
}

/** Forgets logs that are gone. Logs of excluded services count as sent, so that nobody gets all of it later who includes them again. */
async function tidyPositions({ logs, excluded, positions }: Following): Promise<void> {
  const found = await listLogs(logs);
  positions.keepOnly(new Set(found.map(({ app, name }) => `${app}/${name}`)));
  for (const { app, name } of found.filter(({ app }) => excluded.has(app))) {
    const end = await endOfTail(logFile(logs, app, name), positions.of(`${app}/${name}`));
    if (end) positions.set(`${app}/${name}`, end);
  }
  if (excluded.size > 0) await positions.save();
}
