/** Projects of people, for tests of their domains. */
import { expect } from 'vitest';
import type { Person } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { machineName } from '../environments/public.ts';

export type TestProject = Awaited<ReturnType<typeof projectOf>>;

export async function projectOf(owner: Person, organizationId?: string) {
  const { projectId, organization_id } = await sampleProject(owner, organizationId);
  const at = `/projects/${projectId}`;
  return {
    projectId,
    organization_id,
    at,
    main: `${at}/environments/main`,
    add: (body: object) => owner.send('POST', `${at}/domains`, body),
    /** Makes an environment for development; answers where it is. */
    branch: async (id = 'preview') => {
      await owner.home.platform.db
        .insertInto('environments')
        .values({
          project_id: projectId,
          id,
          machine_name: machineName(id, projectId),
          title: 'Preview',
          type: 'development',
          parent: 'main',
        })
        .execute();
      return `${at}/environments/${id}`;
    },
  };
}

/** A reply that says by the name of the field what is wrong with it. */
export const refusal = (field: string, words: string) => ({
  status: 400,
  json: { detail: { [field]: expect.stringContaining(words), error: expect.stringContaining(words) } },
});
