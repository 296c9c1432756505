/** What an organization pays: this month, its orders and invoices, and what is taken off them. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  invoicesQuery,
  monthEstimateQuery,
  ordersQuery,
  prepaymentQuery,
  vouchersQuery,
  type Invoice,
  type Order,
} from '../../api/billing-queries.ts';
import type { Organization } from '../../api/resources.ts';
import { moneyText, noCurrency } from '../../ui/amounts.ts';
import { Icon } from '../../ui/icon.tsx';
import { List } from '../list-page.tsx';
import { ShowMore } from '../long-list.tsx';
import { OrganizationThings } from './organization-things.tsx';
import { Payer } from './payer.tsx';
import { Day, InvoiceState, OrderState, PdfLink } from './payment-state.tsx';
import { Vouchers } from './vouchers.tsx';
import './billing.css';

export const BillingPage = () => (
  <OrganizationThings title="Billing">
    {(organization, changed) => (
      <>
        <Figures organization={organization} />
        <Orders organization={organization} />
        <Invoices organization={organization} />
        <Vouchers organization={organization} onChange={changed} />
        <Payer organization={organization} />
      </>
    )}
  </OrganizationThings>
);

function Figures({ organization }: { organization: Organization }) {
  const { data: estimate } = useQuery(monthEstimateQuery(organization));
  const { data: orders } = useInfiniteQuery(ordersQuery(organization));
  const { data: vouchers } = useQuery(vouchersQuery(organization));
  const { data: prepaid } = useQuery(prepaymentQuery(organization));
  if (estimate?.total.currency_code === noCurrency)
    return (
      <p className="notice">
        <Icon name="check" />
        <span>Nothing costs anything here: the operator of this installation has set no prices.</span>
      </p>
    );
  const [newest] = orders?.pages[0]?.items ?? [];
  const soFar = newest && !newest.invoiced ? newest : undefined;
  const hasVouchers = vouchers !== undefined && Number(vouchers.vouchers_total) > 0;
  const { balance, sufficient, fallback } = prepaid?.prepayment ?? {};
  return (
    <dl className="figures">
      <Figure name="This month will come to" value={estimate?.total.formatted} note="with tax, as it is used now" />
      {soFar && <Figure name="So far" value={soFar.total_formatted} note="brought up to date once a day" />}
      {hasVouchers && (
        <Figure
          name="Left of vouchers"
          value={moneyText(Number(vouchers.vouchers_remaining_balance), vouchers.currency)}
          note={`of ${moneyText(Number(vouchers.vouchers_total), vouchers.currency)}`}
        />
      )}
      {balance && (balance.amount > 0 || fallback === null) && (
        <Figure
          name="Paid ahead"
          value={balance.formatted}
          note={sufficient ? 'enough for this month' : fallback === null ? 'less than this month takes' : 'the rest is invoiced'}
        />
      )}
    </dl>
  );
}

const Figure = ({ name, value, note }: { name: string; value: string | undefined; note: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>
      <strong>{value ?? '…'}</strong>
      <span className="quiet small">{note}</span>
    </dd>
  </div>
);

function Orders({ organization }: { organization: Organization }) {
  const { data, error, ...more } = useInfiniteQuery(ordersQuery(organization));
  return (
    <>
      <List
        title="Orders"
        hasHeading
        about="What each month comes to. When a month is over, its order is closed and never changes again."
        rows={data?.pages.flatMap(({ items }) => items)}
        error={error}
        columns={['Month', 'State', 'Paid', { number: 'Total' }, 'Invoice']}
        empty={{ says: 'There is no order yet: the first one appears when a month is reckoned, once a day.' }}
      >
        {(order) => <OrderRow key={order.id} order={order} organization={organization} />}
      </List>
      <ShowMore {...more} />
    </>
  );
}

const OrderRow = ({ order, organization }: { order: Order; organization: Organization }) => (
  <tr>
    <th scope="row">
      <Link to="/organizations/$organization/billing/$order" params={{ organization: organization.id, order: order.id }}>
        {order.billing_period_label.formatted}
      </Link>
    </th>
    <td data-label="State">
      <OrderState order={order} />
    </td>
    <td data-label="Paid">
      <Day of={order.paid_on} otherwise="not yet" />
    </td>
    <td data-label="Total" className="number">
      {order.total_formatted}
    </td>
    <td data-label="Invoice">
      {order.invoice_url ? (
        <PdfLink href={order.invoice_url} what={`of ${order.billing_period_label.formatted}`} />
      ) : (
        <span className="quiet">none</span>
      )}
    </td>
  </tr>
);

function Invoices({ organization }: { organization: Organization }) {
  const { data, error, ...more } = useInfiniteQuery(invoicesQuery(organization));
  const invoices = data?.pages.flatMap(({ items }) => items);
  if (invoices?.length === 0) return undefined;
  return (
    <>
      <List
        title="Invoices"
        hasHeading
        about="One for each order that is closed; a credit memo takes back a part of one."
        rows={invoices}
        error={error}
        columns={['Number', 'State', 'Of', 'Due', { number: 'Total' }, 'Document']}
        empty={{ says: 'None.' }}
      >
        {(invoice) => <InvoiceRow key={invoice.id} invoice={invoice} />}
      </List>
      <ShowMore {...more} />
    </>
  );
}

const InvoiceRow = ({ invoice }: { invoice: Invoice }) => (
  <tr>
    <th scope="row">
      <span className="mono">{invoice.invoice_number}</span>
      {invoice.type === 'credit_memo' && <span className="under">credit memo{invoice.notes && `: ${invoice.notes}`}</span>}
    </th>
    <td data-label="State">
      <InvoiceState invoice={invoice} />
    </td>
    <td data-label="Of">
      <Day of={invoice.invoice_date} otherwise="none" />
    </td>
    <td data-label="Due">
      <Day of={invoice.invoice_due} otherwise="none" />
    </td>
    <td data-label="Total" className="number">
      {moneyText(invoice.total, invoice.currency)}
    </td>
    <td data-label="Document">
      <PdfLink href={invoice.invoice_pdf.url} what={invoice.invoice_number} />
    </td>
  </tr>
);
