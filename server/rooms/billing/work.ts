/** What operators may have done about money: invoices, vouchers, discounts, prepayments. */
export { allDiscounts, discountTypes, endDiscount, insertDiscount, shownDiscount } from './discounts.ts';
export { allInvoices, invoiceByNumber, type Invoice } from './invoices.ts';
export { correctInvoice } from './issue-invoice.ts';
export { monthAt } from './month.ts';
export { payerNow } from './payer.ts';
export { markPaid } from './payment/settle.ts';
export { addPrepayment, balanceOf, setFallback } from './prepayment.ts';
export { allVouchers, insertVoucher, newCode } from './vouchers.ts';
