/** Owners of projects are told, once, that a certificate which they gave nears its end. */
import { sql } from 'kysely';
import type { Platform } from '../../platform.ts';
import { recordMail } from '../deliveries/public.ts';
import { nearEndDays } from './choose-certificates.ts';

const aheadDays = 21;

interface Ending {
  id: string;
  project_id: string;
  title: string;
  email: string;
  serves: string[];
  expires_at: string;
}

export async function tellOwners(platform: Platform): Promise<void> {
  const { db, config } = platform;
  const { rows } = await sql<Ending>`
    select certificates.id, certificates.project_id, projects.title, users.email, serves, expires_at
    from certificates join projects on projects.id = certificates.project_id
    join organizations on organizations.id = projects.organization_id join users on users.id = organizations.owner_id
    where issued_by is null and serves <> '{}' and owners_told_at is null and not users.deactivated
      and expires_at < now() + make_interval(days => ${aheadDays}) and expires_at > now()`.execute(db);
  for (const ending of rows) {
    await db.transaction().execute(async (tx) => {
      await sql`update certificates set owners_told_at = clock_timestamp() where id = ${ending.id}`.execute(tx);
      await recordMail(tx, platform, { to: ending.email, ...letter(ending, config.url) });
    });
  }
}

const letter = ({ title, project_id, serves, expires_at }: Ending, url: string) => ({
  subject: `A certificate of ${title} ends on ${expires_at.slice(0, 10)}`,
  text: `The certificate that you gave to the project ${title} (${project_id}) at ${url} ends on ${expires_at.slice(0, 10)}. It serves ${serves.join(', ')}.

Give the project a new one before: upsun certificate:add --project ${project_id}

${nearEndDays} days before the end an automatic certificate takes its place, where one can be had.
`,
});
