/** The head of the pages about tickets. */
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { Bar } from '../../ui/bar.tsx';
import { Main } from '../page.tsx';

export function SupportFrame() {
  const { ticket } = useParams({ strict: false });
  const crumbs = [
    <Link key="support" to="/support" aria-current={ticket === undefined ? 'page' : undefined}>
      Support
    </Link>,
    ...(ticket === undefined
      ? []
      : [
          <Link key="ticket" to="/support/$ticket" params={{ ticket }} aria-current="page">
            Ticket {ticket}
          </Link>,
        ]),
  ];
  return (
    <>
      <Bar crumbs={crumbs} />
      <div className="shell">
        <Main>
          <Outlet />
        </Main>
      </div>
    </>
  );
}
