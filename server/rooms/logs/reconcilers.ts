/** Removes logs of environments that no longer exist. An environment that is deleted takes its logs along; this is for those that a crash leaves. */
import { sql } from 'kysely';
import { environmentsWithLogs, logsOf, removeLogs } from '../../drivers/logs/log-folders.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db } from '../../kernel/sql.ts';
import { logsFolder } from '../../machine.ts';

/** Which of these folders belong to an environment. Folders are listed before this is asked, so a folder made later cannot be missed here. */
async function environmentsAmong(db: Db, names: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`
    select project_id || '-' || machine_name as name from environments
    where project_id || '-' || machine_name = any(${names})`.execute(db);
  return new Set(rows.map(({ name }) => name));
}

export const collectLogs: Reconciler = {
  name: 'collect logs',
  everySeconds: 300,
  run: async ({ db, config, log }) => {
    const folder = logsFolder(config);
    const found = await environmentsWithLogs(folder);
    if (found.length === 0) return;
    const known = await environmentsAmong(db, found);
    for (const name of found.filter((each) => !known.has(each))) {
      log.warn({ logs: name }, 'the logs of an environment that no longer exists are removed');
      await removeLogs(logsOf(folder, name));
    }
  },
};
