/**
 * Tells code hosts of environments: a status on the commit, and one comment on the pull request. The database writes down of which environments there is news
 * (0059_code_host_reports.sql); a reconciler makes deliveries of that, in the lane of the integration. A delivery tells what is true when it is sent, and only what
 * the host was not told before: of many changes while a host was away, the last is all that it hears.
 */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { CodeHost, CommitStatus } from '../../../drivers/code-hosts/code-host.ts';
import { deliveryKind, type Sent } from '../../../kernel/delivery.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import { randomSecret } from '../../../kernel/secrets.ts';
import type { Db } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { recordDelivery } from '../../deliveries/public.ts';
import { opened } from '../integration.ts';
import { integrationsOf } from '../queries.ts';
import { codeHostOf, isCodeHost } from './code-host-of.ts';
import { mirrorRow } from './mirror.ts';
import { laneOf } from './register-webhook.ts';
import { reportOf, type Report } from './report-facts.ts';
import { delivered, outcomeOf } from './report-outcome.ts';
import { afterTelling, type ToldStatuses } from './report-statuses.ts';

interface News {
  project_id: string;
  environment: string;
  last: string;
}

const newsMax = 100;

export const reportToCodeHosts: Reconciler = {
  name: 'report to code hosts',
  everySeconds: 60,
  run: async (platform, signal) => {
    for (let news = await someNews(platform.db); news.length > 0 && !signal.aborted; news = await someNews(platform.db))
      for (const each of news) await recordReports(platform, each);
  },
};

async function someNews(db: Db): Promise<News[]> {
  const { rows } = await sql<News>`
    select project_id, environment, max(id) as last from report_news group by project_id, environment order by last limit ${newsMax}`.execute(
    db,
  );
  return rows;
}

/** News that came since then is left for the next look. */
const recordReports = ({ db, secrets }: Platform, { project_id, environment, last }: News): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await sql`delete from report_news where project_id = ${project_id} and environment = ${environment} and id <= ${last}`.execute(tx);
    for (const { id, organization_id, type } of await integrationsOf(tx, project_id))
      if (isCodeHost(type))
        await recordDelivery(tx, secrets, reportEnvironment, {
          payload: { project: project_id, integration: id, environment },
          ...laneOf({ id, organization_id }),
          organizationId: organization_id,
          projectId: project_id,
          integrationId: id,
        });
  });

interface Reporting {
  project: string;
  integration: string;
  environment: string;
}

interface Told {
  statuses: ToldStatuses;
  comment_key: string;
  comment_id: string | null;
  comment_text: string | null;
}

export const reportEnvironment = deliveryKind<Reporting>({
  kind: 'integration.report',
  send: async (platform, { project, integration: id, environment }) => {
    const [row] = await integrationsOf(platform.db, project, id);
    if (!row) return delivered('for nothing: the integration is gone');
    const integration = opened(platform.secrets, row);
    if ((await mirrorRow(platform.db, id))?.is_replaced)
      return delivered('for nothing: its name stands for another repository than the one that was connected');
    const told = await toldOf(platform.db, id, environment);
    const report = await reportOf(platform, integration, environment, told.statuses);
    const hand = { db: platform.db, host: codeHostOf(platform, integration), integration: id, environment };
    const ofCommits = await tellStatuses(hand, told, report);
    // A host that does not take statuses may take comments; one that does not answer is not asked for more.
    return ofCommits?.outcome === 'failed' ? ofCommits : together([ofCommits, await tellComment(hand, told, report)]);
  },
});

/** The worst of what was told, and all of it where it was taken. */
function together(sent: readonly (Sent | undefined)[]): Sent {
  const told = sent.flatMap((each) => each ?? []);
  const isOf = (outcome: Sent['outcome']) => told.find((each) => each.outcome === outcome);
  const asked = told.map(({ request }) => String(request?.['url'])).join(', ');
  return isOf('failed') ?? isOf('refused') ?? delivered(asked === '' ? 'for nothing that it does not show already' : asked);
}

interface Hand {
  db: Db;
  host: CodeHost;
  integration: string;
  environment: string;
}

async function toldOf(db: Db, integration: string, environment: string): Promise<Told> {
  const { rows } = await sql<Told>`
    insert into code_host_reports (integration_id, environment, comment_key) values (${integration}, ${environment}, ${randomSecret()})
    on conflict (integration_id, environment) do update set environment = excluded.environment
    returning statuses, comment_key, comment_id, comment_text`.execute(db);
  const [told] = rows;
  if (!told) throw new Error(`Nothing is known of what was told of ${environment}`);
  return told;
}

/** Remembers each as soon as it is told. Undefined where there is nothing to tell. */
async function tellStatuses(
  { db, host, integration, environment }: Hand,
  { statuses: before }: Told,
  { statuses }: Report,
): Promise<Sent | undefined> {
  let told = before;
  for (const { deploying, status } of statuses) {
    try {
      await host.reportStatus(status);
    } catch (failure) {
      return outcomeOf(failure, wordsOf([status]));
    }
    told = afterTelling(told, deploying);
    await sql`update code_host_reports set statuses = ${JSON.stringify(told)}::jsonb
      where integration_id = ${integration} and environment = ${environment}`.execute(db);
  }
  return statuses.length === 0 ? undefined : delivered(wordsOf(statuses.map(({ status }) => status)));
}

const wordsOf = (statuses: readonly CommitStatus[]) =>
  statuses.map(({ name, state, commit }) => `to show ${name} as ${state} for ${commit.slice(0, 8)}`).join(', ');

/** Of an environment that was never told of, nobody needs to hear that it is gone. */
async function tellComment(
  { db, host, integration, environment }: Hand,
  { comment_key: key, comment_id, comment_text }: Told,
  { comment }: Report,
): Promise<Sent | undefined> {
  if (!comment || comment_text === hashOf(comment.text) || (comment_id === null && !comment.isFirst)) return undefined;
  const { pullRequest, text } = comment;
  const asked = `to comment on pull request ${pullRequest}`;
  try {
    const id = await host.keepComment({ pullRequest, key, text, ...(comment_id !== null && { id: comment_id }) });
    await sql`update code_host_reports set comment_id = ${id}, comment_text = ${hashOf(text)}
      where integration_id = ${integration} and environment = ${environment}`.execute(db);
    return delivered(asked);
  } catch (failure) {
    return outcomeOf(failure, asked);
  }
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url');
