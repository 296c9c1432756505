/** Vouchers of an organization: each pays orders until it is used up. */
import { useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { vouchersQuery, type Vouchers as Told } from '../../api/billing-queries.ts';
import { hrefOf, linkOf } from '../../api/link.ts';
import type { Organization } from '../../api/resources.ts';
import { moneyText } from '../../ui/amounts.ts';
import { curlOf, List } from '../list-page.tsx';

export function Vouchers({ organization, onChange }: { organization: Organization; onChange(): void }) {
  const { data, error } = useQuery(vouchersQuery(organization));
  if (!linkOf(organization, 'vouchers')) return undefined;
  return (
    <List
      title="Vouchers"
      hasHeading
      about="A voucher pays orders in its currency, beginning with the open one, until it is used up."
      button={
        <DeedButton
          resource={organization}
          rel="apply-voucher"
          says="Apply a voucher"
          verb="Apply it"
          title="Apply a voucher"
          onDone={onChange}
        />
      }
      rows={data?.vouchers}
      error={error}
      columns={['Code', 'Used by', { number: 'Left' }, { number: 'Worth' }]}
      empty={{
        says: 'No voucher was applied. Whoever runs this installation gives them out.',
        curl: curlOf('POST', hrefOf(organization, 'apply-voucher'), { code: 'ABCDE-FGHJK-MNPQR-STVWX' }),
      }}
    >
      {(voucher) => (
        <tr key={voucher.code}>
          <th scope="row" className="mono">
            {voucher.code}
          </th>
          <td data-label="Used by">{usedBy(voucher)}</td>
          <td data-label="Left" className="number">
            {moneyText(Number(voucher.amount) - usedOf(voucher), voucher.currency)}
          </td>
          <td data-label="Worth" className="number">
            {moneyText(Number(voucher.amount), voucher.currency)}
          </td>
        </tr>
      )}
    </List>
  );
}

type Voucher = Told['vouchers'][number];

const usedOf = ({ orders }: Voucher) => orders.reduce((sum, { order_discount }) => sum + Number(order_discount), 0);

const month = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });

const usedBy = ({ orders }: Voucher) =>
  orders.length === 0 ? (
    <span className="quiet">no order yet</span>
  ) : (
    orders.map(({ billing_period_start }) => month.format(new Date(billing_period_start))).join(', ')
  );
