/**
 * Who is asking: from an access token to a person and what they may do. The person, the credential and the grants are read afresh for every
 * request, in one query that requests of the same moment share, so whatever was taken away is gone on the next request.
 */
import type { Proof } from '../../identity.ts';
import type { Requirement } from '../../kernel/access.ts';
import { batched } from '../../kernel/batched.ts';
import { bearerChallenge } from '../../kernel/errors.ts';
import { Problem } from '../../kernel/problem.ts';
import { permissions, rolesIn, type Grants, type Scope } from '../../permissions.ts';
import type { Caller, Platform } from '../../platform.ts';
import { isPossibleWhileSuspended, suspended } from '../../suspension.ts';
import type { Db } from '../../kernel/sql.ts';
import { fingerprint } from '../../kernel/secrets.ts';
import { isViaGrant, openAccessTokens } from './access-token.ts';
import { askedFor, holderOfKey, holdersOf, useApiToken, type Holder } from './queries.ts';

export function createCallerOf({ db, keys, config }: Pick<Platform, 'db' | 'keys' | 'config'>): Pick<Platform, 'callerOf' | 'callerBy'> {
  const claimsOf = openAccessTokens(keys, config.url);
  const holderOf = batched(
    (asked) => holdersOf(db, asked),
    ({ asked }) => asked,
  );
  const callerWith = async (claims: Proof & { exp?: number }, project: string) => {
    const holder = await holderOf(askedFor(claims.via, possibleProject(project)));
    const honoured = holder?.id === claims.sub && !holder.deactivated && holder.token_generation === claims.generation;
    return honoured ? callerFor(holder, claims) : undefined;
  };
  return {
    async callerOf(accessToken, { projectId, project_id } = {}) {
      const claims = await claimsOf(accessToken);
      return claims && callerWith(claims, projectId ?? project_id ?? '');
    },
    async callerBy(credential, projectId) {
      if ('certified' in credential) return callerWith(credential.certified, projectId);
      if ('apiToken' in credential) {
        const proof = await proofOfApiToken(db, credential.apiToken);
        return proof && callerWith(proof, projectId);
      }
      const holder = await holderOfKey(db, credential.sshKey, possibleProject(projectId));
      return holder && !holder.deactivated ? callerFor(holder, { via: `ssh-key ${credential.sshKey}` }) : undefined;
    },
  };
}

async function proofOfApiToken(db: Db, apiToken: string): Promise<Proof | undefined> {
  const token = await useApiToken(db, fingerprint(apiToken));
  return (
    token && {
      sub: token.user_id,
      via: token.api_token_id,
      generation: token.token_generation,
      ...(token.mfa_on_creation && { amr: ['mfa'] }),
    }
  );
}

function callerFor(holder: Holder, claims: Pick<Proof, 'via' | 'amr'> & { exp?: number }): Caller {
  const projects = projectsOf(holder);
  /** Somebody who turned the second factor off has none, whatever an older token says. */
  const hasSecondFactor = holder.mfa_enabled && (claims.amr?.includes('mfa') ?? false);
  const grants: Grants = { organizations: holder.memberships, projects };
  const suspension = ({ organization }: Scope) => {
    const found = holder.suspended.find(({ id }) => id === organization);
    return found && suspended(found);
  };
  /** The roles of the last scope are kept, because `can` is asked about all links of a row with the one scope of that row. */
  let scopeBefore: Scope | undefined;
  let roles: ReturnType<typeof rolesIn> = [];
  return {
    id: holder.id,
    user: holder,
    via: claims.via,
    expiresAt: claims.exp === undefined ? undefined : claims.exp * 1000,
    amr: claims.amr,
    grants,
    can(permission, scope) {
      if (scope !== scopeBefore) {
        roles = rolesIn(holder, grants, scope);
        scopeBefore = scope;
      }
      const holders = permissions[permission];
      for (const role of roles) if (holders.includes(role)) return true;
      return false;
    },
    learn(more) {
      for (const { id, permissions: held } of more) projects.set(id, held);
      scopeBefore = undefined;
    },
    hasSecondFactor,
    suspension,
    hindrance(scope, permission, endpoint) {
      const { organization } = scope;
      /** An API token may be in anybody's hands, even if it was created with a second factor. Changing how one signs in takes the person. */
      const isInPerson = hasSecondFactor && isViaGrant(claims.via);
      if (permission === 'user:security' && holder.mfa_enabled && !isInPerson) return needsSecondFactor(sentences.security);
      const asksAsOperator = organization !== undefined || isForOperatorsAlone(permission);
      if (asksAsOperator && !hasSecondFactor && holder.is_operator && holder.mfa_enabled) return needsSecondFactor(sentences.operator);
      if (organization === undefined) return undefined;
      const isEnforced = grants.organizations.some(({ id, enforce_mfa }) => id === organization && enforce_mfa);
      if (!hasSecondFactor && isEnforced) return needsSecondFactor(sentences.organization);
      const refused = endpoint === undefined ? undefined : suspension(scope);
      return endpoint !== undefined && isPossibleWhileSuspended(permission, endpoint) ? undefined : refused;
    },
  };
}

/** What belongs to no organization, such as the installation, has nobody else to ask for it. */
const isForOperatorsAlone = (permission: Requirement | undefined): boolean =>
  permission !== undefined &&
  permission !== 'public' &&
  permission !== 'signed-in' &&
  permissions[permission].every((role) => role === 'operator');

const sentences = {
  security: 'Your account has two-factor authentication: sign in again, with a passcode, to change how you sign in.',
  operator: 'Operators with two-factor authentication must use it here: sign in again with a passcode.',
  organization: 'This organization asks for two-factor authentication: enable it, then sign in again with a passcode.',
};

/** The id of a project as the request gives it; an empty string when the text cannot be the id of a project. */
const possibleProject = (text: string) => (/^[a-z0-9]{1,64}$/.test(text) ? text : '');

const projectsOf = ({ project, project_permissions }: Holder) =>
  new Map<string, readonly string[]>(project === '' ? [] : [[project, project_permissions ?? []]]);

/** Clients read the challenge from the header or from the body, sign in again with these parameters, and retry. */
function needsSecondFactor(sentence: string) {
  const error = 'insufficient_user_authentication';
  const challenge = bearerChallenge(error, sentence)['www-authenticate'];
  return new Problem('unauthenticated', sentence, {
    headers: { 'www-authenticate': `${challenge}, amr="mfa"` },
    body: { error, amr: ['mfa'] },
  });
}
