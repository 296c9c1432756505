/** The installation as its operators see it: what it is, how many use it, and what of it can be looked at and changed. */
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time } from '../../kernel/schema.ts';
import type { Platform } from '../../platform.ts';
import { defaultQuota } from '../deployments/public.ts';
import { Limits } from './limits.ts';

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string };

const schema = Type.Object({
  version: Type.String(),
  region: Type.String(),
  domain: Type.String({ description: 'The domain below which environments have their addresses.' }),
  created_at: Time,
  users: Type.Integer(),
  organizations: Type.Integer(),
  projects: Type.Integer(),
  environments: Type.Integer(),
  default_quota: Limits,
  image_update_asked_at: Type.Unsafe<string | null>({
    ...nullable(Time),
    description: 'Since when an operator waits for newer images; null where nobody does.',
  }),
});

export const InstallationEntity = entity({
  name: 'installation',
  path: '/installation',
  params: {},
  schema,
  address: () => ({}),
  scope: () => ({}),
  view: 'installation:view',
  load: (_, platform) => installationNow(platform),
});

export type Installation = Awaited<ReturnType<typeof installationNow>>;

interface Counted {
  created_at: string;
  image_update_asked_at: string | null;
  users: number;
  organizations: number;
  projects: number;
  environments: number;
}

export async function installationNow({ db, config }: Pick<Platform, 'db' | 'config'>) {
  const { rows } = await sql<Counted>`
    select created_at, image_update_asked_at, (select count(*) from users)::int as users, (select count(*) from organizations)::int as organizations,
      (select count(*) from projects where status <> 'deleted')::int as projects, (select count(*) from environments)::int as environments
    from installation`.execute(db);
  const [counted] = rows;
  if (!counted) throw new Error('The first start has made the installation');
  return { ...counted, version, region: config.region.id, domain: config.domain, default_quota: await defaultQuota(db) };
}
