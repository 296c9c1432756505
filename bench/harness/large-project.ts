/** A platform whose console has much to show: a project with many environments, and an activity with a long log. Nothing runs. */
import { sql } from 'kysely';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { shortId } from '../../server/kernel/id.ts';
import { createDefaultEnvironment } from '../../server/rooms/environments/work.ts';
import { insertProject } from '../../server/rooms/projects/public.ts';
import { hashPassword } from '../../server/rooms/sign-in/public.ts';
import { openMeasuredPlatform } from './platform.ts';

export const large = { environments: 500, lines: 100_000 };
const password = 'correct horse battery staple';

export async function openLargeProject() {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const { api, platform, db, user, headers, close } = await openMeasuredPlatform({}, { OFFSHOOT_PORT: String(port), OFFSHOOT_URL: url });
  await sql`update users set password_hash = ${await hashPassword(password)} where id = ${user.id}`.execute(db);
  const { id: organization_id } = (await api.inject({ method: 'POST', url: '/organizations', headers, payload: { label: 'Acme' } })).json();
  const project = await db.transaction().execute(async (tx) => {
    const fields = {
      id: shortId(),
      organization_id,
      region: platform.config.region.id,
      title: 'Large',
      status: 'active',
      owner_id: user.id,
    };
    const made = await insertProject(tx, fields);
    await createDefaultEnvironment(tx, made);
    return made.id;
  });
  await sql`update environments set status = 'active', head_commit = repeat('a', 40) where project_id = ${project}`.execute(db);
  await sql`insert into environments (project_id, id, machine_name, title, type, parent, status, head_commit, created_at)
    select ${project}, 'feature-' || n, 'feature-' || n, 'Feature ' || n, 'development', case when n % 5 = 0 or n < 5 then 'main' else 'feature-' || (n - n % 5) end,
      (array['active', 'paused', 'inactive'])[1 + n % 3], repeat('b', 40), now() - make_interval(hours => n)
    from generate_series(0, ${large.environments - 2}) as n order by n % 5, n`.execute(db);
  const activity = shortId();
  await sql`insert into activities (id, project_id, type, queue, environments, environment_types, state, result, started_at, completed_at, text, description)
    values (${activity}, ${project}, 'environment.push', 'deployments', '{main}', '{production}', 'complete', 'success', now() - interval '5 minutes', now(),
      'Ada pushed to main', 'Ada pushed to main')`.execute(db);
  await sql`insert into activity_log (activity_id, position, at, message)
    select ${activity}, n, now() - interval '5 minutes' + make_interval(secs => n / 1000.0),
      case when n % 500 = 0 then 'Step ' || n / 500 else '  line ' || n || ' of a build that has much to say about what it does' end || E'\n'
    from generate_series(0, ${large.lines - 1}) as n`.execute(db);
  await api.listen({ host: '127.0.0.1', port });
  return { url, email: user.email, password, project, activity, db, close };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}
