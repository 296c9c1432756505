import { Type } from 'typebox';
import { entity, type Link } from '../../kernel/operation.ts';
import { Line, Time, Ulid, unlessEmpty, Uuid } from '../../kernel/schema.ts';
import type { Caller, Permission } from '../../platform.ts';
import { suspensionSentence } from '../../suspension.ts';
import { CountryInAnyCase } from '../users/public.ts';
import { organizationAt, type Organization } from './queries.ts';

export const organizationNamePattern = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';

const OrganizationName = Type.String({
  pattern: organizationNamePattern,
  'x-message': 'must be 1 to 63 lower-case letters, digits or dashes, beginning and ending with a letter or digit',
});

export const organizationTypes = ['fixed', 'flexible'];

const label = Line(200, { charactersMin: 1 });
const securityContact = Type.String({ maxLength: 254, description: 'The e-mail address to write to about security.' });

/** What can be said about an organization when it is created, and what can be changed later. */
export const organizationFields = { name: OrganizationName, label, country: CountryInAnyCase, security_contact: securityContact };

export const BillingProfileId = Line(100, { charactersMin: 1 });

/** How a path names an organization: by its id, or by `name=` followed by its name. */
export const OrganizationAddress = Type.String({ pattern: '^([0-9A-HJKMNP-TV-Z]{26}|name=[a-z0-9-]{1,63})$' });

const aiAgentSettings = { can_enable: false, performance_agent_enabled: false, log_analyzer_agent_enabled: false };

export type ShownOrganization = Organization & { suspension?: string };

/** With the sentence that is told while it is suspended. */
export const shownOrganization = (organization: Organization): ShownOrganization =>
  organization.status === 'suspended'
    ? { ...organization, suspension: suspensionSentence({ label: organization.label, reason: organization.suspension_reason }) }
    : organization;

/** An organization owns projects, and has members. */
export const OrganizationEntity = entity({
  name: 'organization',
  path: '/organizations/{organization_id}',
  params: { organization_id: OrganizationAddress },
  schema: Type.Object({
    id: Ulid,
    type: Type.String({ enum: organizationTypes }),
    owner_id: Uuid,
    namespace: Type.String({ description: 'The namespace within which the name is unique.' }),
    ...organizationFields,
    security_contact: unlessEmpty(securityContact),
    capabilities: Type.Array(Type.String()),
    vendor: Type.String(),
    billing_profile_id: unlessEmpty(Type.String()),
    billing_legacy: Type.Boolean(),
    /** The table has no such column; the serialiser writes the default. */
    ai_agent_settings: Type.Optional(
      Type.Object(
        { can_enable: Type.Boolean(), performance_agent_enabled: Type.Boolean(), log_analyzer_agent_enabled: Type.Boolean() },
        { default: aiAgentSettings, description: 'Offshoot has no such agents.' },
      ),
    ),
    status: Type.String({ enum: ['active', 'restricted', 'suspended', 'deleted'] }),
    suspension: Type.Optional(
      Type.String({ description: 'What everybody is told who would change something; only where the organization is suspended.' }),
    ),
    created_at: Time,
    updated_at: Time,
  }),
  address: ({ id }: ShownOrganization) => ({ organization_id: id }),
  scope: ({ id }) => ({ organization: id }),
  view: 'organization:view',
  references: { users: ({ owner_id }) => owner_id },
  load: async ({ organization_id }, { db }) => {
    const organization = await organizationAt(db, organization_id);
    return organization && shownOrganization(organization);
  },
  links: (organization, caller) =>
    Object.fromEntries(
      furtherLinks
        .filter(({ permission, offered }) => offered?.(organization) !== false && mayDo(caller, permission, organization))
        .map(({ rel, to }) => [rel, to(organization)]),
    ),
});

const mayDo = (caller: Caller | undefined, permission: Permission, { id }: Organization) =>
  caller !== undefined && caller.can(permission, { organization: id }) && caller.hindrance({ organization: id }, permission) === undefined;

interface FurtherLink {
  rel: string;
  permission: Permission;
  offered?(organization: Organization): boolean;
  to(organization: Organization): Link;
}

const enforcement = ({ id }: Organization, verb: string) => ({
  href: `/organizations/${id}/mfa-enforcement/${verb}`,
  method: 'POST',
});

/** What can be done about an organization at addresses that are not its own, or only in one of two states. */
const furtherLinks: readonly FurtherLink[] = [
  { rel: 'teams', permission: 'team:view', to: ({ id }) => ({ href: `/teams?filter[organization_id]=${id}` }) },
  { rel: 'create-team', permission: 'team:manage', to: () => ({ href: '/teams', method: 'POST' }) },
  { rel: 'tickets', permission: 'organization:view', to: ({ id }) => ({ href: `/tickets?filter[organization_id]=${id}` }) },
  { rel: 'create-ticket', permission: 'organization:view', to: () => ({ href: '/tickets', method: 'POST' }) },
  {
    rel: 'enable-mfa-enforcement',
    permission: 'member:manage',
    offered: ({ enforce_mfa }) => !enforce_mfa,
    to: (organization) => enforcement(organization, 'enable'),
  },
  {
    rel: 'disable-mfa-enforcement',
    permission: 'member:manage',
    offered: ({ enforce_mfa }) => enforce_mfa,
    to: (organization) => enforcement(organization, 'disable'),
  },
];
