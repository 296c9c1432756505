/** Everybody who has an account. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { type Installation, type UserAccount, userAccountsQuery } from '../../api/installation-queries.ts';
import { Age } from '../../ui/age.tsx';
import { personName } from '../../ui/person-name.ts';
import { Badge } from '../../ui/status.tsx';
import { List } from '../list-page.tsx';
import { ListSearch, ShowMore } from '../long-list.tsx';
import { useInstallation } from './use-installation.ts';
import './installation.css';

export function UsersPage() {
  const installation = useInstallation();
  return installation && <Users installation={installation} />;
}

function Users({ installation }: { installation: Installation }) {
  const { search = '' } = useSearch({ from: '/installation/users' });
  const { data, error, ...more } = useInfiniteQuery({ ...userAccountsQuery(installation, search), placeholderData: keepPreviousData });
  return (
    <>
      <List
        title="Users"
        about="Everybody who has an account. Operators may do everything; who is one is decided on the machine."
        button={<ListSearch label="Find by e-mail address" search={search} />}
        rows={data?.pages.flatMap(({ items }) => items)}
        error={error}
        columns={['User', 'E-mail', 'Second factor', { number: 'Organizations' }, 'Last heard of', 'Here since']}
        empty={{
          says: search === '' ? 'Nobody has an account.' : 'Nobody has such an address.',
          cli: './offshoot user create ada@example.org',
        }}
      >
        {(user) => <UserRow key={user.id} user={user} />}
      </List>
      <ShowMore {...more} />
    </>
  );
}

const UserRow = ({ user }: { user: UserAccount }) => (
  <tr>
    <th scope="row">
      <Link to="/installation/users/$user" params={{ user: user.id }}>
        {personName(user)}
      </Link>{' '}
      {user.is_operator && <span className="tag plain">operator</span>}
      <span className="under mono">{user.username}</span>
    </th>
    <td data-label="E-mail">
      {user.email}
      {user.deactivated && <Badge of="inactive">Deactivated</Badge>}
    </td>
    <td data-label="Second factor">{user.mfa_enabled ? 'asked for' : <span className="quiet">none</span>}</td>
    <td data-label="Organizations" className="number">
      {user.organizations}
    </td>
    <td data-label="Last heard of">
      {user.signed_in_at === null ? <span className="quiet">not signed in</span> : <Age of={user.signed_in_at} ago />}
    </td>
    <td data-label="Here since">
      <Age of={user.created_at} />
    </td>
  </tr>
);
