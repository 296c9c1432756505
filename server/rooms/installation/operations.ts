/** For operators: the installation, looked at and changed over the API. Additions of ours to the published API. */
import { sql } from 'kysely';
import { array, deleted, one, operation, page, plain, updated } from '../../kernel/operation.ts';
import { paged } from '../../kernel/paging.ts';
import { nudge } from '../../kernel/reconciler.ts';
import { setDefaultQuota, setQuota } from '../deployments/public.ts';
import { updateImages } from '../deployments/work.ts';
import { SignInEntity, allSignIns } from '../sign-in/public.ts';
import { endSession, openSessions } from '../ssh/public.ts';
import { Health, healthNow } from './health.ts';
import { ImagesTold, imagesNow } from './images.ts';
import { InstallationEntity, installationNow } from './installation.ts';
import { LimitsChange } from './limits.ts';
import { OrganizationQuotaEntity, pageOfOrganizations } from './organization-quotas.ts';
import { Resources, resourcesNow } from './resources.ts';
import { sessionsMax, SshSessionEntity } from './ssh-session.ts';
import { UserAccountEntity, userAccounts } from './user-accounts.ts';

export const getInstallation = operation({
  summary: 'Get the installation',
  endpoint: 'GET /installation',
  on: InstallationEntity,
  permission: 'installation:view',
  returns: one(InstallationEntity),
  handle: async ({ target }) => target,
});

export const getInstallationResources = operation({
  summary: 'Tell what the machine has, and what of it is given out',
  endpoint: 'GET /installation/resources',
  on: InstallationEntity,
  rel: 'resources',
  permission: 'installation:view',
  returns: plain(Resources),
  handle: (_, platform) => resourcesNow(platform),
});

export const getInstallationHealth = operation({
  summary: 'Tell how the platform is: what its machine lacks, what waits, and what there is to come back from',
  endpoint: 'GET /installation/health',
  on: InstallationEntity,
  rel: 'health',
  permission: 'installation:view',
  returns: plain(Health),
  handle: ({ outside }, platform) => outside(() => healthNow(platform)),
});

export const changeDefaultQuota = operation({
  summary: 'Change what every organization may have that has no limits of its own',
  endpoint: 'PATCH /installation/default-quota',
  on: InstallationEntity,
  rel: 'change-default-quota',
  permission: 'installation:manage',
  body: LimitsChange,
  example: { projects: 100 },
  returns: updated(InstallationEntity),
  handle: async ({ body }, platform) => {
    if (Object.keys(body).length > 0) await setDefaultQuota(platform.db, body);
    return installationNow(platform);
  },
});

export const listInstallationOrganizations = operation({
  summary: 'List all organizations, with what each may have and has',
  endpoint: 'GET /installation/organizations',
  on: InstallationEntity,
  rel: 'organizations',
  permission: 'installation:view',
  returns: page(OrganizationQuotaEntity, {
    sort: ['name', 'label', 'created_at'],
    filter: { name: 'string', label: 'string', owner_email: 'string' },
  }),
  handle: ({ list }, { db }) => pageOfOrganizations(db, list),
});

export const getOrganizationQuota = operation({
  summary: 'Get an organization with what it may have and has',
  endpoint: 'GET /installation/organizations/{organization_id}',
  on: OrganizationQuotaEntity,
  permission: 'installation:view',
  returns: one(OrganizationQuotaEntity),
  handle: async ({ target }) => target,
});

export const changeOrganizationQuota = operation({
  summary: 'Change what an organization may have; what is not named stays as it is',
  endpoint: 'PATCH /installation/organizations/{organization_id}',
  on: OrganizationQuotaEntity,
  rel: 'update',
  permission: 'installation:manage',
  body: LimitsChange,
  example: { environments: 20, memory: 16_384 },
  returns: updated(OrganizationQuotaEntity),
  handle: async ({ target, body }, platform) => {
    if (Object.keys(body).length > 0) await setQuota(platform.db, { organization_id: target.id, project_id: null }, body);
    return (await OrganizationQuotaEntity.load({ organization_id: target.id }, platform)) ?? target;
  },
});

export const listInstallationUsers = operation({
  summary: 'List everybody who has an account',
  endpoint: 'GET /installation/users',
  on: InstallationEntity,
  rel: 'users',
  permission: 'installation:view',
  returns: page(UserAccountEntity, { sort: ['username', 'email', 'created_at'], filter: { username: 'string', email: 'string' } }),
  handle: ({ list }, { db }) => paged(userAccounts(db), list),
});

export const getUserAccount = operation({
  summary: 'Get an account',
  endpoint: 'GET /installation/users/{user_id}',
  on: UserAccountEntity,
  permission: 'installation:view',
  returns: one(UserAccountEntity),
  handle: async ({ target }) => target,
});

export const getInstallationImages = operation({
  summary: 'Tell which images are built, what they take, and when they were last brought up to date',
  endpoint: 'GET /installation/images',
  on: InstallationEntity,
  rel: 'images',
  permission: 'installation:view',
  returns: plain(ImagesTold),
  handle: ({ target, outside }, platform) => outside(() => imagesNow(platform, target.image_update_asked_at)),
});

export const updateInstallationImages = operation({
  summary: 'Ask Debian for newer packages now, and build images anew that have some; what runs gets them when it is redeployed',
  endpoint: 'POST /installation/images/update',
  on: InstallationEntity,
  rel: 'update-images',
  permission: 'installation:manage',
  allowedWhen: ({ image_update_asked_at }) => image_update_asked_at === null,
  otherwise: 'An update of the images was asked for already, and is not over yet.',
  returns: updated(InstallationEntity),
  handle: async (_, platform) => {
    await platform.db.transaction().execute(async (tx) => {
      await sql`update installation set image_update_asked_at = coalesce(image_update_asked_at, clock_timestamp())`.execute(tx);
      await nudge(tx, updateImages);
    });
    return installationNow(platform);
  },
});

export const listInstallationSignIns = operation({
  summary: 'List where anybody is signed in, in browsers and with programs',
  endpoint: 'GET /installation/sign-ins',
  on: InstallationEntity,
  rel: 'sign-ins',
  permission: 'installation:view',
  returns: page(SignInEntity, { sort: ['last_used_at', 'created_at'] }),
  handle: ({ caller, list }, { db }) => allSignIns(db, list, caller.via),
});

export const listSshSessions = operation({
  summary: 'List who is inside running apps, over SSH or in a terminal of the console; the oldest first, a thousand at most',
  endpoint: 'GET /installation/ssh-sessions',
  on: InstallationEntity,
  rel: 'ssh-sessions',
  permission: 'installation:view',
  returns: array(SshSessionEntity),
  handle: (_, { db }) => openSessions(db, sessionsMax),
});

export const getSshSession = operation({
  summary: 'Get a session over SSH',
  endpoint: 'GET /installation/ssh-sessions/{session_id}',
  on: SshSessionEntity,
  permission: 'installation:view',
  returns: one(SshSessionEntity),
  handle: async ({ target }) => target,
});

export const endSshSession = operation({
  summary: 'End a session over SSH: the person is put out within seconds, and told that an operator did it',
  endpoint: 'DELETE /installation/ssh-sessions/{session_id}',
  on: SshSessionEntity,
  rel: 'delete',
  permission: 'installation:manage',
  allowedWhen: ({ is_ending }) => !is_ending,
  otherwise: 'The session is being ended already.',
  returns: deleted,
  handle: async ({ target }, { db }) => {
    await endSession(db, target.id);
  },
});
