/** Sessions over SSH, and terminals in browsers, that are open in any process of the installation. */
import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Time, Uuid } from '../../kernel/schema.ts';
import { openSessions, type SshSession } from '../ssh/public.ts';

export const sessionsMax = 1000;

export const SshSessionEntity = entity({
  name: 'SSH session',
  path: '/installation/ssh-sessions/{session_id}',
  params: { session_id: Type.String({ pattern: '^[a-z0-9]{1,64}$' }) },
  schema: Type.Object({
    id: Type.String(),
    user_id: Uuid,
    email: Type.String(),
    project_id: Type.String(),
    environment_id: Type.String(),
    runs: Type.String({ description: 'The app or worker that the person is inside of.' }),
    instance: Type.Integer(),
    address: Type.String({ description: 'The network address that the person came from.' }),
    is_ending: Type.Boolean({ description: 'Whether an operator has ended it, and the process that has it is about to hear of that.' }),
    started_at: Time,
  }),
  address: ({ id }: SshSession) => ({ session_id: id }),
  scope: () => ({}),
  view: 'installation:view',
  load: async ({ session_id }, { db }) => (await openSessions(db, sessionsMax)).find(({ id }) => id === session_id),
});
