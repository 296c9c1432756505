/** People see in the feed that a certificate of theirs has come: the activity is recorded with the certificate, once, and has nothing left to do but to tell. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { activity, startActivity } from '../../kernel/activity.ts';
import type { Tx } from '../../kernel/sql.ts';
import { actorById, environment as named, person, sentence, strong } from '../activities/public.ts';

export const renewalActivity = activity({
  type: 'environment.certificate.renewal',
  queue: 'internal',
  input: Type.Object({ names: Type.Array(Type.String()), expires_at: Type.String() }),
  run: async (work) => {
    const { names, expires_at } = work.input;
    await work.step('tell', async () =>
      work.log(`The certificate for ${names.join(', ')} is good until ${expires_at}; visitors are shown it from now on`),
    );
  },
});

interface Renewed {
  id: string;
  project_id: string;
  names: readonly string[];
  expires_at: string;
  /** Whether there was none before. */
  isFirst: boolean;
}

interface Site {
  id: string;
  title: string;
  type: string;
}

/** Of the environments that have the names. Where none does any more, there is nobody to tell. */
export async function tellOfRenewal(tx: Tx, { id, project_id, names, expires_at, isFirst }: Renewed): Promise<void> {
  const { rows: sites } = await sql<Site>`
    select id, title, type from environments where project_id = ${project_id} and id in (
      select environment_id from hosts where project_id = ${project_id} and host = any(${names}::text[])) order by id`.execute(tx);
  const [site] = sites;
  if (!site) return;
  const actor = await actorById(tx, null);
  const [who, what, where] = [person(actor), strong(names.join(', ')), named(site)];
  await startActivity(tx, renewalActivity, {
    project_id,
    environments: sites,
    // It changes nothing of what runs there.
    beside: 'certificates',
    isOwed: true,
    input: { names: [...names], expires_at },
    parameters: { user: actor.id, environment: site.id },
    payload: {
      user: actor,
      environment: { id: site.id, name: site.id, title: site.title, type: site.type, project: project_id },
      certificate: { id, domains: names, expires_at },
    },
    sentence: isFirst
      ? sentence`${who} obtained the certificate for ${what} of ${where}`
      : sentence`${who} renewed the certificate for ${what} of ${where}`,
  });
}
