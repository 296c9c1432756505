/** Who may do what in a project. */
import type { Person } from '../platform.ts';
import type { Address } from './addresses.ts';
import { sampleMember, sampleTeam } from './organizations.ts';
import { sampleProject } from './projects.ts';

export async function sampleUserAccess(owner: Person) {
  const { organization_id, project_id } = await sampleProject(owner);
  const user_id = await sampleMember(owner, organization_id);
  await owner.send('POST', `/projects/${project_id}/user-access`, [{ user_id, permissions: ['viewer'] }]);
  return { project_id, user_id };
}

export async function sampleTeamAccess(owner: Person) {
  const { organization_id, team_id } = await sampleTeam(owner);
  const { project_id } = await sampleProject(owner, organization_id);
  await owner.send('POST', `/projects/${project_id}/team-access`, [{ team_id }]);
  return { project_id, team_id };
}

export const organizationOfTeam = async (owner: Person, { team_id }: Address): Promise<string> =>
  (await owner.send('GET', `/teams/${team_id}`)).json.organization_id;
