/** Who a person is to the platform. */
import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../../api/queries.ts';
import { Age } from '../../ui/age.tsx';
import { nameOf } from '../../ui/bar.tsx';
import { useTitle } from '../page.tsx';

export function ProfilePage() {
  const { data: me } = useQuery(meQuery());
  useTitle('Your account');
  if (!me) return undefined;
  return (
    <dl className="facts">
      <dt>Name</dt>
      <dd>{nameOf(me)}</dd>
      <dt>Username</dt>
      <dd className="mono">{me.username}</dd>
      <dt>E-mail</dt>
      <dd>{me.email}</dd>
      <dt>Two factors</dt>
      <dd>{me.mfa_enabled ? 'A passcode is asked for when you sign in.' : 'Your password alone signs you in.'}</dd>
      <dt>Here</dt>
      <dd>
        since <Age of={me.created_at} />
      </dd>
      <dt>User id</dt>
      <dd className="mono">{me.id}</dd>
    </dl>
  );
}
