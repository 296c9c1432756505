/** Asks for everything of an environment that the published API has, and holds it to the published schemas. */
import { mismatchesWithPublished, publishedPaths } from '../server/testing/published-replies.ts';
import { send } from './api.ts';
import type { Person } from './open-project.ts';

/** By path: what is not as published. */
export async function mismatchesIn(person: Person, project: string, environment: string): Promise<Record<string, string[]>> {
  const ask = async (path: string) => send(person.url, await person.accessToken(), 'GET', path);
  const { organization, owner } = (await ask(`/projects/${project}`)).json;
  const [activity] = (await ask(`/projects/${project}/activities`)).json;
  const known: Record<string, string> = {
    projectId: project,
    project_id: project,
    environmentId: environment,
    deploymentId: 'current',
    activityId: activity.id,
    organization_id: organization,
    user_id: owner,
    userId: owner,
  };
  const found: Record<string, string[]> = {};
  for (const path of publishedPaths) {
    const names = [...path.matchAll(/{(\w+)}/g)].map(([, name = '']) => name);
    const { status, json } = names.every((name) => Object.hasOwn(known, name))
      ? await ask(path.replaceAll(/{(\w+)}/g, (_, name: string) => encodeURIComponent(known[name] ?? '')))
      : { status: 0, json: undefined };
    if (status === 200) found[path] = mismatchesWithPublished(path, json);
  }
  return found;
}
