/** What follows from a change of domains: the routes of what runs are resolved anew and the edge is told. No container is touched. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { activity, startActivity, type Activity } from '../../kernel/activity.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Caller } from '../../platform.ts';
import { actorOf, environment as named, person, sentence, strong } from '../activities/public.ts';
import { refreshRoutes } from '../deployments/work.ts';
import { environmentLife } from '../environments/life-cycle.ts';
import type { Site } from './queries.ts';

const domainActivity = (type: string) =>
  activity({
    type,
    queue: 'default',
    usesMachine: true,
    /** The first is the one whose domain it is; in others, a domain was attached to it. */
    input: Type.Object({ name: Type.String(), environments: Type.Array(Type.String()) }),
    run: async (work, platform) => {
      const { environments } = work.input;
      const { project_id } = work.activity;
      const waiting = await work.step('look at environments', () => deployedByHand(platform.db, project_id, environments));
      for (const id of waiting) work.log(`${id} is deployed by hand: its routes change with its next deployment (environment:deploy)`);
      const [first] = environments;
      if (first !== undefined && waiting.includes(first)) work.stage(first);
      const others = environments.filter((id) => !waiting.includes(id));
      if (others.length > 0) await refreshRoutes(work, platform, others);
    },
  });

export const createDomainActivity = domainActivity('environment.domain.create');
export const updateDomainActivity = domainActivity('environment.domain.update');
export const deleteDomainActivity = domainActivity('environment.domain.delete');

/** Those in which changes wait until somebody says go. */
async function deployedByHand(db: Db, projectId: string, environments: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from environments where project_id = ${projectId} and id = any(${environments}::text[]) and enable_manual_deployments
      and ${environmentLife.sqlPossible('status', 'holdData')} order by id`.execute(db);
  return rows.map(({ id }) => id);
}

const definitions = { added: createDomainActivity, updated: updateDomainActivity, deleted: deleteDomainActivity };

/** `sites`: first the one whose domain it is, then those in which others were attached to it. */
export function tellOfDomain(
  tx: Tx,
  verb: keyof typeof definitions,
  { user }: Caller,
  domain: { name: string; project_id: string },
  [site, ...attached]: readonly [Site, ...Site[]],
): Promise<Activity> {
  const actor = actorOf(user);
  const { name, project_id } = domain;
  const [who, what, where] = [person(actor), strong(name), named(site)];
  const sentences = {
    added: sentence`${who} added domain ${what} to ${where}`,
    updated: sentence`${who} updated domain ${what} of ${where}`,
    deleted: sentence`${who} deleted domain ${what} from ${where}`,
  };
  const { id, title, type } = site;
  return startActivity(tx, definitions[verb], {
    project_id,
    environments: [site, ...attached],
    input: { name, environments: [site, ...attached].map((each) => each.id) },
    parameters: { user: actor.id, environment: id, domain: name },
    payload: { user: actor, environment: { id, name: id, title, type, project: project_id }, domain: { name } },
    sentence: sentences[verb],
  });
}
