/** All tickets that a person is on; for operators, all there are. */
import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../../api/queries.ts';
import { useTitle } from '../page.tsx';
import { Tickets } from './tickets.tsx';

export function TicketsPage() {
  const { data: me } = useQuery(meQuery());
  useTitle('Support');
  return (
    <>
      <div className="page-head">
        <h1>Support</h1>
      </div>
      {me && <Tickets of={me} />}
    </>
  );
}
