/** All that is printed on an invoice or a credit memo, kept with it: whatever changes later, it is printed as it was issued. Amounts are of the smallest unit, as text. */
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { flawOf, oneOf, orNull } from '../../kernel/stored-json.ts';
import type { PriceContent } from '../prices/public.ts';
import { withSubtotals } from './orders.ts';
import { PayerSchema } from './payer.ts';
import type { Line, Totals } from './reckon.ts';

const text = Type.String();
const Document = Type.Object({
  type: oneOf('invoice', 'credit_memo'),
  number: text,
  /** Of a credit memo: the invoice that it corrects. */
  corrects: orNull(text),
  month: text,
  issued_on: text,
  due_on: orNull(text),
  currency: text,
  seller: Type.Object({
    name: text,
    address: Type.Array(text),
    vat_number: text,
    email: text,
    payment: text,
  }),
  payer: PayerSchema,
  groups: Type.Array(
    Type.Object({
      title: text,
      lines: Type.Array(Type.Object({ product: text, quantity: text, amount: text })),
      amount: text,
    }),
  ),
  totals: Type.Object({ baseprice: text, discount: text, voucher: text, vat: text, total: text, prepaid: text }),
  vat_percent: text,
  is_reverse_charged: Type.Boolean(),
  notes: text,
});
export type InvoiceDocument = Static<typeof Document>;

export function readDocument(stored: unknown): InvoiceDocument {
  if (!Value.Check(Document, stored)) throw new Error(`An invoice cannot be read: ${flawOf(Document, stored)}`);
  return stored;
}

export const sellerOf = ({ name, address, vat_number, email, payment }: PriceContent['seller']): InvoiceDocument['seller'] => ({
  name: name ?? 'The operator of this installation',
  address: address ?? [],
  vat_number: vat_number ?? '',
  email: email ?? '',
  payment: payment ?? '',
});

/** Projects in order, then what is the organization's. */
export const groupsOf = (lines: readonly Line[]): InvoiceDocument['groups'] =>
  [...Map.groupBy(withSubtotals(lines), ({ line }) => line.project?.id ?? '').values()].map((group) => {
    const subtotal = group.find(({ isSubtotal }) => isSubtotal)?.line;
    return {
      title: subtotal?.product ?? '',
      lines: group
        .filter(({ isSubtotal }) => !isSubtotal)
        .map(({ line: { product, quantity, amount } }) => ({ product, quantity, amount: String(amount) })),
      amount: String(subtotal?.amount ?? 0n),
    };
  });

export const writtenTotals = ({ baseprice, discount, voucher, vat, total }: Totals, prepaid: bigint): InvoiceDocument['totals'] => ({
  baseprice: String(baseprice),
  discount: String(discount),
  voucher: String(voucher),
  vat: String(vat),
  total: String(total),
  prepaid: String(prepaid),
});
