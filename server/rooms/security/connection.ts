import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Line, Time, Uuid } from '../../kernel/schema.ts';
import { connectionOf, type Connection } from './queries.ts';

/** A way to sign in through another identity provider. */
export const ConnectionEntity = entity({
  name: 'connection',
  path: '/users/{user_id}/connections/{provider}',
  params: { user_id: Uuid, provider: Line(200) },
  schema: Type.Object({
    provider: Type.String(),
    provider_type: Type.String(),
    is_mandatory: Type.Boolean({ description: 'The organization that the e-mail address belongs to insists on it.' }),
    subject: Type.String({ description: 'Who the person is there.' }),
    email_address: Type.String(),
    created_at: Time,
    updated_at: Time,
  }),
  address: ({ user_id, provider }: Connection) => ({ user_id, provider }),
  scope: ({ user_id }) => ({ user: user_id }),
  view: 'user:view',
  load: ({ user_id, provider }, { db }) => connectionOf(db, user_id, provider),
});
