/** The head of the pages of a person's own account. */
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { meQuery } from '../../api/queries.ts';
import { Bar } from '../../ui/bar.tsx';
import { personName } from '../../ui/person-name.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { Failure, Main } from '../page.tsx';

export function AccountFrame() {
  const { data: me, error } = useQuery(meQuery());
  return (
    <>
      <Bar
        crumbs={[
          <Link key="account" to="/account" aria-current="page">
            Your account
          </Link>,
        ]}
      />
      <div className="project-head">
        <div className="page-head">
          <h1>{me ? personName(me) : 'Your account'}</h1>
        </div>
        <Tabs label="Pages of your account" of="/account" params={{}} resource={me} />
      </div>
      <div className="shell">
        <Main>
          {error && <Failure error={error} />}
          <Outlet />
        </Main>
      </div>
    </>
  );
}
