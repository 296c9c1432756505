/** A channel of Slack is told, once, that it will be told: whoever set it up sees at once whether the token may write there. */
import { sql } from 'kysely';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Platform } from '../../platform.ts';
import { integrationById } from '../integrations/public.ts';
import { recordFor } from './receivers/receiver.ts';
import { slack, slackGreeting } from './receivers/slack.ts';

interface Ungreeted {
  id: string;
  project_id: string;
  title: string;
}

const ungreetedMax = 100;

export const greetReceivers: Reconciler = {
  name: 'greet receivers',
  everySeconds: 300,
  run: async (platform, signal) => {
    const { rows } = await sql<Ungreeted>`
      select integrations.id, integrations.project_id, projects.title from integrations join projects on projects.id = integrations.project_id
      where integrations.type = 'health.slack' and not exists (select from health_greetings where integration_id = integrations.id)
      order by integrations.created_at limit ${ungreetedMax}`.execute(platform.db);
    for (const ungreeted of rows) if (!signal.aborted) await greet(platform, ungreeted);
  },
};

const greet = (platform: Platform, { id, project_id, title }: Ungreeted) =>
  platform.db.transaction().execute(async (tx) => {
    const integration = await integrationById({ ...platform, db: tx }, project_id, id);
    if (!integration) return;
    await tx.insertInto('health_greetings').values({ integration_id: id }).execute();
    await recordFor(tx, platform, integration, slack.kind, slackGreeting(title));
  });
