/**
 * Whoever manages an organization's teams is trusted to choose who is in them, except themselves. What a team may do in a project was agreed
 * to by those who administer that project when they let the team in: widening it afterwards takes their permission, narrowing does not.
 */
import { Problem } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Caller } from '../../platform.ts';
import { covers, inOrder } from '../projects/public.ts';
import { lockTeam, opensMoreThan, updateTeam, type Team } from './queries.ts';

interface Changes {
  label?: string;
  project_permissions?: string[];
}

export function changeTeam(db: Db, caller: Caller, { id, organization_id }: Team, { label, project_permissions }: Changes): Promise<Team> {
  return db.transaction().execute(async (tx) => {
    const before = await lockTeam(tx, id);
    const wanted = project_permissions && inOrder(project_permissions);
    if (before && wanted && !covers(before.project_permissions, wanted) && !caller.can('team:join', { organization: organization_id })) {
      if (await opensMoreThan(tx, id, caller.id)) {
        throw new Problem(
          'forbidden',
          'This team has access to projects that you do not administer: you can narrow its project_permissions, but not widen them.',
        );
      }
    }
    const after = await updateTeam(tx, id, {
      ...(label !== undefined && { label }),
      ...(wanted && { project_permissions: wanted }),
    });
    if (!after) throw new Problem('not-found', 'No such team.');
    return after;
  });
}
