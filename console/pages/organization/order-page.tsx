/** One order: what a month comes to, line by line, for each project and for the organization. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { orderQuery, type Order, type OrderLine } from '../../api/billing-queries.ts';
import type { Organization } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { saveCsv } from '../../ui/csv.ts';
import { Bones } from '../../ui/notice.tsx';
import { Failure } from '../page.tsx';
import { OrganizationThings } from './organization-things.tsx';
import { Day, OrderState, PdfLink } from './payment-state.tsx';
import './billing.css';

export const OrderPage = () => (
  <OrganizationThings title="Order">{(organization) => <OrderOf organization={organization} />}</OrganizationThings>
);

function OrderOf({ organization }: { organization: Organization }) {
  const { order: id } = useParams({ from: '/organizations/$organization/billing/$order' });
  const { data: order, error } = useQuery(orderQuery(organization, id));
  if (error) return <Failure error={error} />;
  if (!order) return <Bones rows={6} height={40} />;
  return (
    <>
      <div className="section-head">
        <h2>{order.billing_period_label.formatted}</h2>
        <OrderState order={order} />
        <span className="push">
          <button type="button" className="button" onClick={() => saveCsv(`order-${order.id}`, csvRows(order))}>
            Save as CSV
          </button>
        </span>
      </div>
      <Facts order={order} organization={organization} />
      <Lines order={order} />
    </>
  );
}

const Facts = ({ order, organization }: { order: Order; organization: Organization }) => (
  <dl className="facts">
    <dt>Order</dt>
    <dd>
      {order.id}, one of{' '}
      <Link to="/organizations/$organization/billing" params={{ organization: organization.id }}>
        all orders
      </Link>
    </dd>
    {order.invoiced ? (
      <>
        <dt>Paid</dt>
        <dd>
          <Day of={order.paid_on} otherwise="not yet" />
        </dd>
        <dt>Invoice</dt>
        <dd>
          {order.invoice_url ? (
            <PdfLink href={order.invoice_url} what={`of ${order.billing_period_label.formatted}`} />
          ) : (
            <span className="quiet">none, because there is nothing to pay</span>
          )}
        </dd>
      </>
    ) : (
      <>
        <dt>Reckoned</dt>
        <dd>{order.last_refreshed === null ? <span className="quiet">not yet</span> : <Age of={order.last_refreshed} ago />}</dd>
      </>
    )}
  </dl>
);

function Lines({ order }: { order: Order }) {
  const groups = groupsOf(order.line_items);
  if (groups.length === 0) return <p className="empty section">Nothing is charged for this month.</p>;
  return (
    <table className="table cards section order-lines" aria-label="Lines">
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">How much</th>
          <th scope="col" className="number">
            Price
          </th>
        </tr>
      </thead>
      {groups.map(({ name, sum, lines }) => (
        <tbody key={name}>
          <tr className="group">
            <th scope="rowgroup" colSpan={2}>
              {name}
            </th>
            <td className="number" data-label="Sum">
              {sum}
            </td>
          </tr>
          {lines.map((line, n) => (
            <tr key={n}>
              <th scope="row">{line.product}</th>
              <td data-label="How much">{line.quantity}</td>
              <td className="number" data-label="Price">
                {line.total_formatted}
              </td>
            </tr>
          ))}
        </tbody>
      ))}
      <tfoot>
        {Object.values(order.components).map(({ display_title, amount_formatted }) => (
          <tr key={display_title}>
            <th scope="row" colSpan={2}>
              {display_title}
            </th>
            <td className="number">{amount_formatted}</td>
          </tr>
        ))}
        <tr className="total">
          <th scope="row" colSpan={2}>
            Total
          </th>
          <td className="number">{order.total_formatted}</td>
        </tr>
      </tfoot>
    </table>
  );
}

/** Lines stand before the sum of their project, or of the organization. */
function groupsOf(items: readonly OrderLine[]) {
  const groups: { name: string; sum: string; lines: readonly OrderLine[] }[] = [];
  let lines: OrderLine[] = [];
  for (const line of items) {
    if (line.exclude_from_invoice) {
      groups.push({ name: line.product, sum: line.total_formatted, lines });
      lines = [];
    } else lines.push(line);
  }
  return groups;
}

const csvRows = ({ line_items, currency }: Order) => [
  ['project_id', 'product', 'quantity', 'total', 'currency'],
  ...line_items
    .filter(({ exclude_from_invoice }) => !exclude_from_invoice)
    .map(({ project_id, product, quantity, total }) => [project_id ?? '', product, quantity, total, currency]),
];
