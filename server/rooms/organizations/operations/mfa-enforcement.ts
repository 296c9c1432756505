import { Type } from 'typebox';
import { nothing, operation, plain } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { closed, Uuid } from '../../../kernel/schema.ts';
import { OrganizationEntity } from '../organization.ts';
import { setMfaEnforcement } from '../queries.ts';
import { remindOfMfa } from '../remind-of-mfa.ts';

export const getMfaEnforcement = operation({
  summary: 'Whether an organization asks its members for two-factor authentication',
  endpoint: 'GET /organizations/{organization_id}/mfa-enforcement',
  on: OrganizationEntity,
  rel: 'mfa-enforcement',
  permission: 'organization:view',
  returns: plain(Type.Object({ enforce_mfa: Type.Boolean() })),
  handle: ({ target: { enforce_mfa } }) => Promise.resolve({ enforce_mfa }),
});

export const enableMfaEnforcement = operation({
  summary: 'Ask for two-factor authentication: whoever signed in without it is let into the organization no more',
  endpoint: 'POST /organizations/{organization_id}/mfa-enforcement/enable',
  on: OrganizationEntity,
  permission: 'member:manage',
  returns: nothing,
  async handle({ caller, target }, { db }) {
    if (!caller.user.mfa_enabled) {
      throw new Problem('invalid-request', 'Enable two-factor authentication for yourself first; otherwise you would lock yourself out.');
    }
    await setMfaEnforcement(db, target.id, true);
  },
});

export const disableMfaEnforcement = operation({
  summary: 'Stop asking for two-factor authentication',
  endpoint: 'POST /organizations/{organization_id}/mfa-enforcement/disable',
  on: OrganizationEntity,
  permission: 'member:manage',
  returns: nothing,
  async handle({ target }, { db }) {
    await setMfaEnforcement(db, target.id, false);
  },
});

const remindedMax = 100;

export const sendMfaReminders = operation({
  summary: 'Mail members a reminder to enable two-factor authentication',
  endpoint: 'POST /organizations/{organization_id}/mfa/remind',
  on: OrganizationEntity,
  permission: 'member:manage',
  body: closed({ user_ids: Type.Optional(Type.Array(Uuid, { maxItems: remindedMax })) }),
  example: { user_ids: ['7f8c5ad2-3c1e-4f59-9d2a-5a0c3a7a0b1e'] },
  returns: plain(
    Type.Record(Type.String(), Type.Object({ code: Type.Integer(), message: Type.String() }), {
      description: 'By user id: how the reminder went, as an HTTP status and a sentence.',
    }),
  ),
  handle: ({ caller, target, body }, platform) => remindOfMfa(platform, caller, target, body.user_ids ?? []),
});
