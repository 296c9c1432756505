/**
 * Whether a person may hear of a change: whoever may see the thing itself. What they were granted is asked for once in each project, and again after
 * anything was granted or taken away (`rights`), which is told before the changes that follow it.
 */
import type { Change } from '../../kernel/changes.ts';
import type { Caller, Permission, Platform } from '../../platform.ts';

/** The permission to see a thing of each kind. */
const permissionOf: Readonly<Record<string, Permission>> = {
  user: 'user:view',
  'api-token': 'api-token:view',
  'ssh-key': 'ssh-key:view',
  organization: 'organization:view',
  member: 'member:view',
  team: 'team:view',
  project: 'project:view',
  contract: 'contract:view',
  access: 'access:view',
  environment: 'environment:view',
  deployment: 'environment:view',
  backup: 'environment:view',
  cron: 'environment:view',
  autoscaling: 'environment:view',
  activity: 'activity:view',
  variable: 'variable:view',
  domain: 'domain:view',
  certificate: 'certificate:view',
  integration: 'integration:view',
};

export const kindsOfChanges = Object.keys(permissionOf);

const projectsRememberedMax = 200;

export interface Sight {
  /** Those of the changes that the person may see now; undefined when they are no longer signed in. */
  visible(changes: readonly Change[]): Promise<Change[] | undefined>;
  end(): void;
}

export function openSight(caller: Caller, platform: Pick<Platform, 'callerBy' | 'notices'>): Sight {
  const { id: sub, via, amr, user } = caller;
  const certified = { sub, via, generation: user.token_generation, ...(amr && { amr }) };
  /** The caller with what they were granted in a project; under the empty name, as who they are alone. */
  const known = new Map<string, Promise<Caller | undefined>>();
  const stopListening = platform.notices.on('rights', (person) => {
    if (person === undefined || person === '' || person === sub) known.clear();
  });
  const callerIn = (project: string) => {
    if (known.size > projectsRememberedMax) known.clear();
    const asked = known.get(project) ?? platform.callerBy({ certified }, project);
    known.set(project, asked);
    // A lookup that failed is no answer: the next change asks again.
    asked.catch(() => known.delete(project));
    return asked;
  };
  const sees = async (self: Caller, { kind, scope }: Change) => {
    const permission = permissionOf[kind];
    if (permission === undefined) return false;
    // Only members of an organization are let into its projects, so nothing is asked about the projects of others.
    const isOutside = !self.user.is_operator && self.grants.organizations.every(({ id }) => id !== scope.organization);
    if (scope.organization !== undefined && isOutside) return false;
    const viewer = scope.project === undefined ? self : await callerIn(scope.project);
    return viewer !== undefined && viewer.hindrance(scope) === undefined && viewer.can(permission, scope);
  };
  return {
    async visible(changes) {
      const self = await callerIn('');
      if (!self || isExpired(caller)) return undefined;
      const answers = await Promise.all(changes.map((change) => sees(self, change)));
      return changes.filter((_, n) => answers[n]);
    },
    end: stopListening,
  };
}

const isExpired = ({ expiresAt }: Caller) => expiresAt !== undefined && expiresAt <= Date.now();
