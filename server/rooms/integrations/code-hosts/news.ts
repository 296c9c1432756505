/**
 * News of a code host: what there is to look at, written down before anybody is answered. Nothing else of a delivery is kept, because deliveries come late,
 * twice and in any order: the host is asked how things are now.
 */
import { sql } from 'kysely';
import type { HostEvent } from '../../../drivers/code-hosts/code-host.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';

export interface News {
  about: string;
  pull_request: number | null;
  version: string;
  noted_at: string;
}

type Subject = Pick<News, 'about' | 'pull_request'>;

const branches: Subject = { about: 'branches', pull_request: null };
export const everything: Subject = { about: 'everything', pull_request: null };
export const pullRequestNews = (number: number): Subject => ({ about: `pull request ${number}`, pull_request: number });
export const isAboutEverything = ({ about }: Subject) => about === everything.about;

/** A target that moved changes what merging a pull request would make, so branches concern pull requests, too: those are planned anew with every fetch. */
const subjectOf: { [Kind in HostEvent['kind']]: (event: Extract<HostEvent, { kind: Kind }>) => Subject } = {
  'branch-pushed': () => branches,
  'branch-deleted': () => branches,
  'tag-pushed': () => branches,
  'tag-deleted': () => branches,
  'pull-request': ({ pullRequest }) => pullRequestNews(pullRequest.number),
  'repository-renamed': () => everything,
  'repository-deleted': () => everything,
  'look-at-everything': () => everything,
};

export const subjectsOf = (events: readonly HostEvent[]): Subject[] => events.map((event) => subjectOf[event.kind](event as never));

export async function noteNews(tx: Tx, integrationId: string, subjects: readonly Subject[]): Promise<void> {
  for (const { about, pull_request } of subjects)
    await sql`insert into code_host_news (integration_id, about, pull_request) values (${integrationId}, ${about}, ${pull_request})
      on conflict (integration_id, about) do update
      set version = code_host_news.version + 1, noted_at = excluded.noted_at`.execute(tx);
}

const newsMax = 1000;

export async function newsOf(db: Db | Tx, integrationId: string): Promise<News[]> {
  const { rows } = await sql<News>`
    select about, pull_request, version::text as version, noted_at from code_host_news
    where integration_id = ${integrationId} order by noted_at, about limit ${newsMax}`.execute(db);
  return rows;
}

/** What came meanwhile about the same thing stays. */
export async function crossOutNews(tx: Tx, integrationId: string, news: readonly Pick<News, 'about' | 'version'>[]): Promise<void> {
  for (const { about, version } of news)
    await sql`delete from code_host_news
      where integration_id = ${integrationId} and about = ${about} and version = ${version}`.execute(tx);
}
