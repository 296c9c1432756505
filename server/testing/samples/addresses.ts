/** Where a sample is, and where nothing is. */

export type Address = Record<string, string>;

export const fill = (path: string, address: Address) =>
  path.replaceAll(/{(\w+)}/g, (_, name: string) => encodeURIComponent(address[name] ?? 'absent')) +
  (address['?'] === undefined ? '' : `?${address['?']}`);

export const absentUuid = '00000000-0000-4000-8000-000000000000';

const absentUlid = '00000000000000000000000000';

/** Ids that are well-formed, and that nothing has. */
export const absentAddress: Address = {
  user_id: absentUuid,
  userId: absentUuid,
  uuid: absentUuid,
  token_id: absentUuid,
  invitation_id: absentUuid,
  record_id: absentUlid,
  key_id: '999999999',
  email: 'nobody@example.org',
  username: 'nobody',
  organization_id: absentUlid,
  team_id: absentUlid,
  subscription_id: '999999999',
  subscriptionId: '999999999',
  project_id: 'absent',
  environmentTypeId: 'absent',
  projectId: 'absent',
  region_id: 'absent',
  backupId: absentUlid,
  provider: 'absent',
  sid: absentUuid,
  access_id: absentUuid,
  ticket_id: '999999999',
  order_id: '999999999',
  invoice_id: '999999999',
  id: '999999999',
};
