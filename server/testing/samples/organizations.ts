/** People of an organization, and those who are invited to it. */
import type { Person } from '../platform.ts';
import type { Address } from './addresses.ts';

/** An organization whose owner has a second factor, and so may ask its members for theirs. */
export async function sampleOrganization(owner: Person) {
  await owner.home.platform.db.updateTable('users').set({ mfa_enabled: true }).where('id', '=', owner.user.id).execute();
  const { json } = await owner.send('POST', '/organizations', { label: 'Sample' });
  return { organization_id: String(json.id) };
}

export const freshEmail = () => `${crypto.randomUUID()}@example.org`;

/** Adds somebody else to the organization; answers with the id of the user. */
export async function sampleMember(owner: Person, organizationId: string, permissions: string[] = []): Promise<string> {
  const { user } = await owner.home.person();
  await owner.send('POST', `/organizations/${organizationId}/members`, { user_id: user.id, permissions });
  return user.id;
}

export async function sampleInvitation(owner: Person, path: string, address: Address) {
  const { json } = await owner.send('POST', path, { email: freshEmail(), permissions: [] });
  return { ...address, invitation_id: String(json.id) };
}

/** A team in a new organization of the owner's, with a member whose id comes along. */
export async function sampleTeam(owner: Person) {
  const { organization_id } = await sampleOrganization(owner);
  const { json } = await owner.send('POST', '/teams', { organization_id, label: 'Sample', project_permissions: ['viewer'] });
  const user_id = await sampleMember(owner, organization_id);
  await owner.send('POST', `/teams/${json.id}/members`, { user_id });
  return { organization_id, team_id: String(json.id), user_id };
}
