/**
 * What a page of a long list costs: page 1 against page 100 of 10,000 teams and of 10,000 members, all in one organization and all asked for
 * one after the other in the same run. A page is found by its cursor in an index, so the two should take the same time.
 */
import { sql } from 'kysely';
import { median, openMeasuredPlatform } from './harness/platform.ts';

const rows = 10_000;
const pageSize = 100;
const lastPage = 100;
const requestsEach = 200;
const ratioMax = 1.5;

const { api, db, headers, close } = await openMeasuredPlatform();
const { id: organization } = (await api.inject({ method: 'POST', url: '/organizations', headers, payload: { label: 'Bench' } })).json();
await fillOrganization(organization);

/** Beside 10,000 members and teams, each team has members and a project, so that its live counts count something. */
async function fillOrganization(id: string) {
  await sql`insert into users (email, username) select 'm' || n || '@example.org', 'm' || n from generate_series(2, ${rows}::int) n`.execute(
    db,
  );
  await sql`insert into organization_members (organization_id, user_id, created_at, updated_at)
    select ${id}, users.id, at, at from users, lateral (select now() + users.uid * interval '1 ms' as at) moment where username like 'm%'`.execute(
    db,
  );
  await sql`insert into projects (id, organization_id, region) select 'project' || n, ${id}, 'bench' from generate_series(1, 10) n`.execute(
    db,
  );
  await sql`insert into teams (id, organization_id, label, project_permissions, created_at, updated_at)
    select lpad(n::text, 26, '0'), ${id}, 'Team ' || md5(n::text), '{viewer}', at, at
    from generate_series(1, ${rows}::int) n, lateral (select now() + n * interval '1 ms' as at) moment`.execute(db);
  await sql`insert into team_members (team_id, user_id, organization_id)
    select teams.id, someone.user_id, ${id} from teams,
    lateral (select user_id from organization_members where user_id > md5(teams.id)::uuid order by user_id limit 10) someone`.execute(db);
  await sql`insert into team_access (team_id, project_id, organization_id)
    select id, 'project' || (1 + (hashtext(id) & 7)), ${id} from teams`.execute(db);
  await sql`vacuum analyze`.execute(db);
}

const lists = {
  'GET /teams': `/teams?filter[organization_id]=${organization}`,
  'GET /teams?sort=created_at': `/teams?filter[organization_id]=${organization}&sort=created_at`,
  'GET /organizations/{o}/members': `/organizations/${organization}/members?sort=created_at`,
};

for (const [name, list] of Object.entries(lists)) {
  const first = `${list}&page[size]=${pageSize}`;
  const last = await pageAfter(first, lastPage - 1);
  const [one, hundred] = await medians(first, last);
  const ratio = Math.max(hundred / one, one / hundred);
  const verdict = ratio <= ratioMax ? 'ok' : 'TOO SLOW';
  console.log(
    `${name.padEnd(32)} page 1 ${one.toFixed(2)} ms, page ${lastPage} ${hundred.toFixed(2)} ms: ${ratio.toFixed(2)} (at most ${ratioMax}): ${verdict}`,
  );
  if (ratio > ratioMax) process.exitCode = 1;
}

async function get(url: string) {
  const reply = await api.inject({ url, headers });
  if (reply.statusCode !== 200) throw new Error(`${url}: ${reply.statusCode} ${reply.payload}`);
  return reply;
}

async function pageAfter(url: string, pages: number): Promise<string> {
  let at = url;
  for (let n = 0; n < pages; n += 1) at = (await get(at)).json<{ _links: { next: { href: string } } }>()._links.next.href;
  return at;
}

/** Alternating, so that whatever else the machine does falls on both alike. */
async function medians(...urls: [string, string]): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []];
  for (let n = 0; n < requestsEach; n += 1) {
    for (const [which, url] of urls.entries()) {
      const start = performance.now();
      await get(url);
      times[which]?.push(performance.now() - start);
    }
  }
  return [median(times[0]), median(times[1])];
}

await close();
