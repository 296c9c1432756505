/**
 * How the platform is: what its machine lacks, whether what keeps things true does so, what waits, and what there is to come back from. Parts that take long to look at
 * are looked at once for all who ask within some seconds, and are told as unknown where they do not answer in time.
 */
import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { reconcilersSeen } from '../../kernel/own-instruments.ts';
import { inMilliseconds, nullable, Time } from '../../kernel/schema.ts';
import { stateOf } from '../../kernel/state-of.ts';
import type { Platform } from '../../platform.ts';
import { openActivities, waitingDeliveries } from '../monitoring/public.ts';
import { machineChecks } from './machine-checks.ts';

const Seconds = nullable(Type.Number());

export const Health = Type.Object({
  findings: Type.Array(
    Type.Object({
      what: Type.String(),
      need: Type.String({
        enum: ['platform', 'deployments'],
        description: 'What it is needed for: the platform at all, or only to deploy here.',
      }),
      is_ok: Type.Boolean(),
      found: Type.String(),
      remedy: nullable(Type.String()),
    }),
    { description: 'What `./offshoot doctor` looks at.' },
  ),
  reconcilers: Type.Array(
    Type.Object({ name: Type.String(), runs: Type.Integer(), failures: Type.Integer(), succeeded_at: nullable(Time) }),
    { description: 'What keeps things true, as far as the process that answers has run it.' },
  ),
  activities: Type.Array(
    Type.Object({ type: Type.String(), state: Type.String(), count: Type.Integer(), oldest_waiting_seconds: Seconds }),
    { description: 'Those that are not over.' },
  ),
  deliveries: Type.Array(Type.Object({ kind: Type.String(), count: Type.Integer(), oldest_waiting_seconds: Seconds }), {
    description: 'What others are to be told and have not been yet.',
  }),
  backups: Type.Object({
    verified_at: Type.Unsafe<string | null>({
      ...nullable(Time),
      description: 'When the installation itself was last backed up, and every byte of that read back from each place.',
    }),
    is_overdue: Type.Boolean({ description: 'Whether that is longer ago than two days, or never was on an installation older than that.' }),
    places: Type.Array(Type.Object({ name: Type.String(), address: Type.String(), problem: nullable(Type.String()) })),
    restorable: Type.Integer({ description: 'Backups of environments of which every byte was read back.' }),
    damaged: Type.Integer({ description: 'Backups of environments that were found damaged since.' }),
  }),
});

type Told = Static<typeof Health>;

/** A look takes programs and places of backups some seconds; whoever asks meanwhile gets the same. */
const keptMilliseconds = 15_000;
const secondsMax = 10;

interface Look {
  at: number;
  findings: Promise<Told['findings']>;
  places: Promise<Told['backups']['places']>;
}

const lastLook = stateOf<Platform, { look?: Look }>(() => ({}));

function lookAgain(platform: Platform): Look {
  const state = lastLook(platform);
  if (!state.look || Date.now() - state.look.at > keptMilliseconds)
    state.look = { at: Date.now(), findings: findingsIn(platform), places: placesIn(platform) };
  return state.look;
}

export async function healthNow(platform: Platform): Promise<Told> {
  const { findings, places } = lookAgain(platform);
  const activities = await openActivities(platform.db);
  const deliveries = await waitingDeliveries(platform.db);
  return {
    findings: await findings,
    reconcilers: reconcilersSeen(platform),
    activities: activities.map(({ oldest, ...activity }) => ({ ...activity, oldest_waiting_seconds: oldest })),
    deliveries: deliveries.map(({ oldest, ...delivery }) => ({ ...delivery, oldest_waiting_seconds: oldest })),
    backups: { ...(await backupsIn(platform)), places: await places },
  };
}

const findingsIn = ({ config }: Platform): Promise<Told['findings']> =>
  Promise.all(
    machineChecks.map(async ({ what, need, look, remedy }) => {
      const { ok, found } = await inTime(Promise.resolve(look(config)), {
        ok: false,
        found: `did not answer within ${secondsMax} seconds`,
      });
      return { what, need, is_ok: ok, found, remedy: ok ? null : remedy };
    }),
  );

async function placesIn({ blobs, config }: Platform): Promise<Told['backups']['places']> {
  const silent = config.backups.map(() => ({
    name: 'a place of backups',
    address: '',
    problem: `It did not answer within ${secondsMax} seconds.`,
  }));
  const places = await inTime(blobs.places(), silent);
  return places.map(({ name, address, problem }) => ({ name, address, problem: problem ?? null }));
}

/** What fails is told like what does not answer: whoever asks how the platform is gets to know the rest. */
async function inTime<T>(looking: Promise<T>, otherwise: T): Promise<T> {
  const late = Promise.withResolvers<T>();
  const timer = setTimeout(() => late.resolve(otherwise), secondsMax * 1000);
  try {
    return await Promise.race([looking, late.promise]);
  } catch {
    return otherwise;
  } finally {
    clearTimeout(timer);
  }
}

async function backupsIn({ db }: Platform): Promise<Omit<Told['backups'], 'places'>> {
  const { rows } = await sql<Omit<Told['backups'], 'places'>>`
    select installation.backed_up_at as verified_at, coalesce(installation.backed_up_at, installation.created_at) < now() - interval '2 days' as is_overdue,
      (select count(*) from backups where restorable)::int as restorable, (select count(*) from backups where damaged_at is not null)::int as damaged
    from installation`.execute(db);
  const { verified_at = null, is_overdue = false, restorable = 0, damaged = 0 } = rows[0] ?? {};
  return { verified_at: verified_at && inMilliseconds(verified_at), is_overdue, restorable, damaged };
}
