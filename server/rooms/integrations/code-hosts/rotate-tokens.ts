/**
 * Replaces access tokens of GitLab before they expire. GitLab voids the old token in the moment in which it makes the new one, shows the new one once, and takes a
 * second rotation of the same token for a theft. So what is about to happen is written down first (`token_rotations`), the new token is stored before anybody uses
 * it, and whoever finds a note asks GitLab whether the old token still works, which tells whether the rotation happened.
 *
 * What cannot be made safe: if the platform is killed, or GitLab's answer is lost, between GitLab making the token and our storing it, nobody knows the new token.
 * That is found out and told; somebody has to give another. A second token beside the old one would avoid that moment, but GitLab lets no token of a project or group
 * make tokens, and one of a person only tokens of a project, which are somebody else's: nobody asked for another identity.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { CodeHost, RotatedToken } from '../../../drivers/code-hosts/code-host.ts';
import { isFailure } from '../../../drivers/code-hosts/code-host-failure.ts';
import { deliveryKind, type Sent } from '../../../kernel/delivery.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import { fingerprint } from '../../../kernel/secrets.ts';
import type { Db } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { recordDelivery } from '../../deliveries/public.ts';
import { opened, type Integration } from '../integration.ts';
import { integrationsOf, takeIntegrations, updateIntegration } from '../queries.ts';
import { valueColumns, type StoredIntegration } from '../stored-integration.ts';
import type { Values } from '../types/field.ts';
import { codeHostOf } from './code-host-of.ts';
import { laneOf } from './register-webhook.ts';
import { delivered, outcomeOf } from './report-outcome.ts';

const dayMilliseconds = 24 * 60 * 60 * 1000;
/** Time enough to notice a rotation that failed, and to give a token by hand. */
const renewedDaysMax = 7;
/** A rotation that was refused is tried again after so many hours. */
const pauseHours = 12;

const weeksOf = (values: Values) => Number(values['rotate_token_validity_in_weeks']);

/** Whether the token is to be replaced now: a week before it expires, or after half of its time where that is shorter. */
export function isDue(values: Values, now: number): boolean {
  const expiresAt = values['token_expires_at'];
  if (values['rotate_token'] !== true || typeof expiresAt !== 'string') return false;
  return Date.parse(expiresAt) - now < Math.min(renewedDaysMax, (weeksOf(values) * 7) / 2) * dayMilliseconds;
}

export const rotateTokens: Reconciler = {
  name: 'rotate tokens of code hosts',
  everySeconds: 3600,
  run: async ({ db, secrets }) => {
    const due = (await rotating(db)).map((row) => opened(secrets, row)).filter(({ values }) => isDue(values, Date.now()));
    for (const { id, project_id, organization_id } of due)
      await recordDelivery(db, secrets, rotateToken, {
        payload: { project: project_id, integration: id },
        ...laneOf({ id, organization_id }),
        organizationId: organization_id,
        projectId: project_id,
        integrationId: id,
      });
  },
};

const kind = 'integration.rotate_token';

/** Those that have asked for it, and for which nothing was tried lately. */
async function rotating(db: Db): Promise<StoredIntegration[]> {
  const { rows } = await sql<StoredIntegration>`
    select integrations.*, projects.organization_id
    from integrations join projects on projects.id = integrations.project_id and projects.status <> 'deleted'
    where integrations.type = 'gitlab' and integrations.settings -> 'rotate_token' = 'true' and not exists (
      select from deliveries where deliveries.integration_id = integrations.id and deliveries.kind = ${kind}
        and (deliveries.state = 'waiting' or deliveries.created_at > now() - make_interval(hours => ${pauseHours})))`.execute(db);
  return rows;
}

interface Rotation {
  project: string;
  integration: string;
}

export const rotateToken = deliveryKind<Rotation>({
  kind,
  send: async (platform, { project, integration: id }) => {
    const [row] = await integrationsOf(platform.db, project, id);
    const integration = row && opened(platform.secrets, row);
    if (!integration || !isDue(integration.values, Date.now())) return delivered('for nothing: the token need not be replaced any more');
    const host = codeHostOf(platform, integration);
    try {
      return (await interrupted(platform.db, host, integration)) ?? (await rotate(platform, host, integration));
    } catch (failure) {
      return outcomeOf(failure, 'for a new token');
    }
  },
});

/** What became of a rotation that was begun before and not finished; undefined where there is none, or where it did not happen. */
async function interrupted(db: Db, host: CodeHost, { id, values }: Integration): Promise<Sent | undefined> {
  const { rows } = await sql<{ begun_at: string }>`
    select begun_at from token_rotations where integration_id = ${id} and token_fingerprint = ${tokenMark(values)}`.execute(db);
  if (!rows[0]) return undefined;
  try {
    await host.verify();
    return undefined;
  } catch (failure) {
    if (!isFailure(failure, 'credential')) throw failure;
    const trouble = `GitLab replaced the token at about ${rows[0].begun_at}, and the platform was interrupted before it had the new one. Give the integration a new token.`;
    return { ...delivered('for a new token'), outcome: 'refused', trouble };
  }
}

async function rotate(platform: Platform, host: CodeHost, integration: Integration): Promise<Sent> {
  const { db } = platform;
  const { id, values } = integration;
  await sql`
    insert into token_rotations (integration_id, token_fingerprint) values (${id}, ${tokenMark(values)})
    on conflict (integration_id) do update set token_fingerprint = excluded.token_fingerprint, begun_at = clock_timestamp()`.execute(db);
  const expiresAt = new Date(Date.now() + weeksOf(values) * 7 * dayMilliseconds).toISOString();
  const rotated = await host.rotateToken?.(expiresAt).catch(async (failure: unknown) => {
    // Of what the host refuses it did nothing. Where it did not answer, nobody knows, and the note stays.
    if (!isFailure(failure, 'unavailable')) await forgetRotation(db, id);
    throw failure;
  });
  if (!rotated) return delivered('for nothing: it replaces no tokens');
  await keptWithPatience(platform, integration, rotated);
  return delivered(`for a new token, which is good until ${rotated.expiresAt}`);
}

const forgetRotation = (db: Db, id: string) => sql`delete from token_rotations where integration_id = ${id}`.execute(db);

const storeTriesMax = 20;
const storePauseMilliseconds = 2000;

/** The new token is nowhere but here: a database that is away for a moment must not cost it. */
async function keptWithPatience(platform: Platform, integration: Integration, rotated: RotatedToken): Promise<void> {
  for (let left = storeTriesMax - 1; ; left -= 1) {
    try {
      return await keep(platform, integration, rotated);
    } catch (error) {
      if (left === 0) throw error;
      platform.log.warn({ err: error, integration: integration.id }, 'a new token could not be stored; it is tried again');
      await sleep(storePauseMilliseconds);
    }
  }
}

/** Whoever gave another token meanwhile knows better. */
const keep = ({ db, secrets }: Platform, { id, project_id, type, values }: Integration, { token, expiresAt }: RotatedToken) =>
  db.transaction().execute(async (tx) => {
    await takeIntegrations(tx, project_id);
    const [row] = await integrationsOf(tx, project_id, id);
    const stored = row && opened(secrets, row);
    if (stored && tokenMark(stored.values) === tokenMark(values))
      await updateIntegration(tx, id, valueColumns(secrets, id, type, { ...stored.values, token, token_expires_at: expiresAt }));
    await sql`delete from token_rotations where integration_id = ${id}`.execute(tx);
  });

const tokenMark = (values: Values) => fingerprint(String(values['token']));
