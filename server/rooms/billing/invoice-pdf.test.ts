import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { InvoiceDocument } from './invoice-document.ts';
import { invoicePdf } from './invoice-pdf.ts';
import { nobody } from './payer.ts';

const documentFor = (company: string, title: string, currency = 'EUR'): InvoiceDocument => ({
  type: 'invoice',
  number: 'R000001',
  corrects: null,
  month: '2026-01-01',
  issued_on: '2026-02-01',
  due_on: '2026-02-15',
  currency,
  seller: { name: 'Example Hosting', address: ['1 Main Street'], vat_number: 'DE123456788', email: '', payment: 'Please transfer it.' },
  payer: { ...nobody, company, vat_number: 'NL123456782B01', address: { name_line: 'Ada Lovelace', country: 'NL' } },
  groups: [{ title, lines: [{ product: 'Plan flexible', quantity: '', amount: '2000' }], amount: '2000' }],
  totals: { baseprice: '2000', discount: '0', voucher: '0', vat: '0', total: '2000', prepaid: '0' },
  vat_percent: '0',
  is_reverse_charged: true,
  notes: '',
});

/** What somebody who reads it finds. */
const textOf = (pdf: Buffer) => execFileSync('pdftotext', ['-layout', '-', '-'], { input: pdf }).toString();
const fontsOf = (pdf: Buffer) => execFileSync('pdffonts', ['-'], { input: pdf }).toString();

test.for([
  ['Ζαχαροπλαστείο Αφοί Παπαδοπούλου', 'Κατάστημα', 'DejaVu'],
  ['ООО «Щётка и Ёж»', 'Магазин', 'DejaVu'],
  ['Żółta Gęś Sp. z o.o.', 'Sklep źródło', 'DejaVu'],
  ['İstanbul Çağrı Şirketi', 'Mağaza', 'DejaVu'],
  ['株式会社 東京サービス', '店舗', 'WenQuanYi'],
  ['臺灣數位有限公司', 'Ελλάδα', 'WenQuanYi'],
  ['한국주식회사', 'Shop', 'WenQuanYi'],
] as const)('an invoice for %s can be read, with its font in it, and stays small', async ([company, title, font]) => {
  const pdf = await invoicePdf(documentFor(company, title));
  const text = textOf(pdf).replaceAll(/\s+/g, ' ');
  for (const part of [company, title, 'Ada Lovelace', 'Total', '€20.00']) expect(text).toContain(part);
  expect(fontsOf(pdf)).toMatch(new RegExp(String.raw`\+${font}.* yes yes yes`));
  expect(pdf.length).toBeLessThan(80_000);
});

test('an invoice in common letters has no font in it; what no font has is a question mark; signs of currencies are printed', async () => {
  const plain = await invoicePdf(documentFor('Müller & Søn A/S', 'Shop'));
  expect([textOf(plain).includes('Müller & Søn A/S'), fontsOf(plain).includes('Helvetica'), plain.length < 10_000]).toEqual([
    true,
    true,
    true,
  ]);
  expect(textOf(await invoicePdf(documentFor('Acme ไทย 🙂', 'Shop')))).toContain('Acme ??? ?');
  expect(textOf(await invoicePdf(documentFor('Acme', 'Shop', 'INR')))).toContain('₹20.00');
});

test('a reverse charge is named on the invoice, with the VAT numbers of both', async () => {
  const text = textOf(await invoicePdf(documentFor('Acme', 'Shop')));
  for (const part of ['VAT: reverse charge', 'the recipient of the services is liable', 'NL123456782B01', 'DE123456788'])
    expect(text).toContain(part);
});
