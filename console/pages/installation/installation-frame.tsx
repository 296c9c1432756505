/** The head of the pages for operators. To anybody else the API shows no installation, and so there is none here. */
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { installationQuery } from '../../api/installation-queries.ts';
import { hrefOf } from '../../api/link.ts';
import { meQuery } from '../../api/queries.ts';
import { Bar } from '../../ui/bar.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Failure, Main, useTitle } from '../page.tsx';

export function InstallationFrame() {
  const { data: me, error: noMe } = useQuery(meQuery());
  const { data: installation, error } = useQuery(installationQuery(me));
  const isForOthers = me !== undefined && hrefOf(me, 'installation') === undefined;
  useTitle('Installation');
  return (
    <>
      <Bar
        crumbs={[
          <Link key="installation" to="/installation" aria-current="page">
            Installation
          </Link>,
        ]}
      />
      <div className="project-head">
        <div className="page-head">
          <h1>{isForOthers ? 'There is no such page' : 'Installation'}</h1>
        </div>
        {installation && <Tabs label="Pages of the installation" of="/installation" params={{}} resource={installation} />}
      </div>
      <div className="shell">
        <Main>
          {isForOthers && <p>The installation is looked after by its operators.</p>}
          {(noMe ?? error) && <Failure error={(noMe ?? error) as Error} />}
          {!installation && !error && !isForOthers && <Bones rows={4} height={40} />}
          {installation && <Outlet />}
        </Main>
      </div>
    </>
  );
}
