/** Admins of a new project are mailed what is wrong with it, without having to ask. They may change or delete the integration like any other. */
import { sql } from 'kysely';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Platform } from '../../platform.ts';
import { insertNew } from '../integrations/public.ts';

const projectsMax = 100;

export const addFirstReceivers: Reconciler = {
  name: 'add first receivers',
  everySeconds: 300,
  run: async (platform, signal) => {
    const { rows } = await sql<{ id: string }>`
      select id from projects where not has_first_receiver and status = 'active' order by id limit ${projectsMax}`.execute(platform.db);
    for (const { id } of rows) if (!signal.aborted) await addFirstReceiver(platform, id);
  },
};

const addFirstReceiver = ({ db, secrets }: Platform, projectId: string) =>
  db.transaction().execute(async (tx) => {
    const { rows } = await sql`
      update projects set has_first_receiver = true where id = ${projectId} and not has_first_receiver returning id`.execute(tx);
    if (rows.length > 0) await insertNew(tx, secrets, projectId, { type: 'health.email', recipients: ['#admins'] });
  });
