import { startActivity } from '../../kernel/activity.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { Changed } from '../../kernel/operation.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence, strong } from '../activities/public.ts';
import { addressMistake } from '../projects/public.ts';
import { displayName } from '../users/public.ts';
import { initializeActivity } from './activities.ts';
import type { Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';

interface Wanted {
  profile?: string;
  repository?: string;
  config?: string | null;
  files?: { path: string; mode?: number; contents?: string }[];
  resources?: { init?: 'default' | 'minimum' | null } | null;
}

const fileMode = 0o644;
const isBase64 = (text: string) => Buffer.from(text, 'base64').toString('base64').replaceAll('=', '') === text.replaceAll(/[=\s]/g, '');

export async function startInitialize(
  { db }: Platform,
  environment: Environment,
  wanted: Wanted,
  caller: Caller,
): Promise<Changed<Environment>> {
  const { profile = '', repository, config, files = [] } = wanted;
  const init = wanted.resources?.init ?? undefined;
  if (repository === undefined && files.length === 0)
    throw new Problem('invalid-request', 'Name a repository to begin with, or give files.', {
      fields: { repository: 'is required without files' },
    });
  for (const [field, address] of Object.entries({ repository, config })) {
    const mistake = typeof address === 'string' ? addressMistake(address) : undefined;
    if (mistake !== undefined) throw invalidField(field, mistake);
  }
  files.forEach(({ contents = '' }, n) => {
    if (!isBase64(contents)) throw invalidField(`files.${n}.contents`, 'must be in base64');
  });
  const actor = actorOf(caller.user);
  const { project_id, organization_id } = environment;
  const activity = await db.transaction().execute((tx) =>
    startActivity(tx, initializeActivity, {
      project_id,
      environments: [environment],
      input: {
        environment: environment.id,
        ...(repository !== undefined && { repository }),
        ...(typeof config === 'string' && { config }),
        files: files.map(({ path, mode = fileMode, contents = '' }) => ({ path, mode, contents })),
        by: { name: displayName(caller.user), email: caller.user.email },
        ...(init !== undefined && { deploying: { init } }),
      },
      parameters: { user: actor.id, environment: environment.id, profile },
      payload: { user: actor, outcome: environmentSummary(environment), profile },
      sentence: sentence`${person(actor)} initialized environment ${named(environment)} with profile ${strong(profile)}`,
    }),
  );
  return changed({ ...environment, is_dirty: true }, organization_id, activity);
}
