/** What became of an order or an invoice, in the words of whoever pays. */
import type { Invoice, Order } from '../../api/billing-queries.ts';
import { Badge, type Standing } from '../../ui/status.tsx';

interface Said {
  standing: Standing;
  word: string;
}

const orderStates: Readonly<Record<string, Said>> = {
  completed: { standing: 'active', word: 'Paid' },
  pending: { standing: 'paused', word: 'To be paid' },
  past_due: { standing: 'failed', word: 'Overdue' },
  canceled: { standing: 'inactive', word: 'Canceled' },
  payment_failed_soft_decline: { standing: 'failed', word: 'Payment failed for now' },
  payment_failed_hard_decline: { standing: 'failed', word: 'Payment declined' },
};

const invoiceStates: Readonly<Record<string, Said>> = {
  paid: { standing: 'active', word: 'Paid' },
  pending: { standing: 'paused', word: 'To be paid' },
  charged_off: { standing: 'inactive', word: 'Written off' },
  refunded: { standing: 'active', word: 'Refunded' },
  refund_pending: { standing: 'building', word: 'To be refunded' },
  canceled: { standing: 'inactive', word: 'Canceled' },
};

const running: Said = { standing: 'building', word: 'Adds up' };

/** Nothing is to be paid for a month that lasts, whatever it will come to. */
export function OrderState({ order: { status, invoiced } }: { order: Order }) {
  const { standing, word } = invoiced ? (orderStates[status] ?? { standing: 'inactive' as const, word: status }) : running;
  return <Badge of={standing}>{word}</Badge>;
}

export function InvoiceState({ invoice: { status } }: { invoice: Invoice }) {
  const { standing, word } = invoiceStates[status] ?? { standing: 'inactive' as const, word: status };
  return <Badge of={standing}>{word}</Badge>;
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** Bills are about days of UTC, whatever zone they are read in. */
export const Day = ({ of, otherwise }: { of: string | null; otherwise: string }) =>
  of === null ? (
    <span className="quiet">{otherwise}</span>
  ) : (
    <time dateTime={of} title={`${of.slice(0, 10)} (UTC)`}>
      {day.format(new Date(of))}
    </time>
  );

/** Whoever has the address can read it, so it is a link like any other; it is good for an hour. */
export const PdfLink = ({ href, what }: { href: string; what: string }) => (
  <a href={href} target="_blank" rel="noreferrer" aria-label={`PDF of the invoice ${what}`}>
    PDF
  </a>
);
