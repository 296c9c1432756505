/** An invoice or a credit memo as a PDF, printed from what was kept with it: the same each time. */
import { startOf } from '../../kernel/days.ts';
import { formatted } from '../prices/public.ts';
import type { InvoiceDocument } from './invoice-document.ts';
import { printableIn, typefaceFor } from './invoice-typeface.ts';
import { monthName } from './month.ts';
import { addressLines } from './payer.ts';

const margin = 56;
const footerHeight = 22;
const ink = '#1c2733';
const faint = '#6b7785';
const rule = '#d5dbe1';
const accent = '#1f6f5c';
const [regular, bold] = ['regular', 'bold'];

type Pdf = PDFKit.PDFDocument;

/** A document in letters that its typeface can show. */
interface Printed extends InvoiceDocument {
  money(amount: bigint): string;
}

export async function invoicePdf(issued: InvoiceDocument): Promise<Buffer> {
  const typeface = typefaceFor(`${textsOf(issued).join('')}${formatted(0n, issued.currency)}`);
  const document = printed(issued, printableIn(typeface));
  const title = document.type === 'invoice' ? 'Invoice' : 'Credit memo';
  // Loaded when it is first asked for: it is a tenth of what a start of the platform would load.
  const { default: PdfKit } = await import('pdfkit');
  const pdf = new PdfKit({
    size: 'A4',
    margins: { top: margin, left: margin, right: margin, bottom: margin + footerHeight },
    bufferPages: true,
    info: { Title: `${title} ${document.number}`, Author: document.seller.name, CreationDate: new Date(startOf(document.issued_on)) },
  });
  pdf.registerFont(regular, typeface.regular.source, typeface.regular.family);
  pdf.registerFont(bold, typeface.bold.source, typeface.bold.family);
  const chunks: Buffer[] = [];
  pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise<void>((resolve, reject) => pdf.once('end', resolve).once('error', reject));
  drawHead(pdf, document, title);
  drawLines(pdf, document);
  drawTotals(pdf, document);
  drawClosing(pdf, document);
  drawFooters(pdf, document);
  pdf.end();
  await ended;
  return Buffer.concat(chunks);
}

const textsOf = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];

const printed = (document: InvoiceDocument, printable: (text: string) => string): Printed => ({
  ...(JSON.parse(JSON.stringify(document), (_name, value: unknown) =>
    typeof value === 'string' ? printable(value) : value,
  ) as InvoiceDocument),
  money: (amount) => printable(formatted(amount, document.currency)),
});

const widthOf = (pdf: Pdf) => pdf.page.width - 2 * margin;
const bottomOf = (pdf: Pdf) => pdf.page.height - margin - footerHeight;

function drawHead(pdf: Pdf, document: Printed, title: string): void {
  const { seller, payer } = document;
  const width = widthOf(pdf);
  pdf.rect(0, 0, pdf.page.width, 8).fill(accent);
  pdf
    .font(bold)
    .fontSize(15)
    .fillColor(ink)
    .text(seller.name, margin, margin, { width: width * 0.55 });
  pdf.font(regular).fontSize(9).fillColor(faint);
  for (const line of [...seller.address, seller.email]) if (line !== '') pdf.text(line, { width: width * 0.55 });
  const afterSeller = pdf.y;
  pdf
    .font(bold)
    .fontSize(22)
    .fillColor(accent)
    .text(title, margin, margin - 4, { width, align: 'right' });
  pdf.font(regular).fontSize(11).fillColor(ink).text(document.number, { width, align: 'right' });

  const top = Math.max(afterSeller, pdf.y) + 34;
  pdf.font(regular).fontSize(8).fillColor(faint).text('BILLED TO', margin, top);
  pdf
    .font(bold)
    .fontSize(11)
    .fillColor(ink)
    .text(payer.company || payer.label, margin, top + 14, { width: width * 0.5 });
  pdf.font(regular).fontSize(10);
  for (const line of addressLines(payer)) pdf.text(line, { width: width * 0.5 });
  if (payer.vat_number !== '') pdf.fillColor(faint).text(`VAT number ${payer.vat_number}`, { width: width * 0.5 });
  const afterPayer = pdf.y;
  const facts: [string, string][] = [
    ['Date', document.issued_on],
    ['Period', `${monthName(document.month)} ${document.month.slice(0, 4)}`],
    ...(document.corrects === null ? [] : ([['Corrects', document.corrects]] as [string, string][])),
    ...(document.due_on === null ? [] : ([['To be paid until', document.due_on]] as [string, string][])),
  ];
  facts.forEach(([name, value], nth) => {
    const y = top + 14 + nth * 15;
    pdf
      .font(regular)
      .fontSize(9)
      .fillColor(faint)
      .text(name, margin + width * 0.58, y, { width: width * 0.2 });
    pdf
      .font(bold)
      .fontSize(9)
      .fillColor(ink)
      .text(value, margin + width * 0.58, y, { width: width * 0.42, align: 'right' });
  });
  pdf.y = Math.max(afterPayer, top + 14 + facts.length * 15) + 30;
}

const columnsOf = (pdf: Pdf) => {
  const width = widthOf(pdf);
  return {
    product: { x: margin, width: width * 0.5 },
    quantity: { x: margin + width * 0.5, width: width * 0.27 },
    amount: { x: margin + width * 0.77, width: width * 0.23 },
  };
};

const lineHeight = 15;

function ensureRoom(pdf: Pdf, height: number, onNewPage: () => void = () => {}): void {
  if (pdf.y + height <= bottomOf(pdf)) return;
  pdf.addPage();
  pdf.y = margin;
  onNewPage();
}

function drawColumnNames(pdf: Pdf): void {
  const { product, quantity, amount } = columnsOf(pdf);
  const { y } = pdf;
  pdf.font(regular).fontSize(8).fillColor(faint);
  pdf.text('DESCRIPTION', product.x, y, { width: product.width });
  pdf.text('QUANTITY', quantity.x, y, { width: quantity.width, align: 'right' });
  pdf.text('AMOUNT', amount.x, y, { width: amount.width, align: 'right' });
  pdf.y = y + 13;
  drawRule(pdf, ink, 0.8);
}

function drawRule(pdf: Pdf, color: string, thickness: number): void {
  pdf
    .moveTo(margin, pdf.y)
    .lineTo(margin + widthOf(pdf), pdf.y)
    .lineWidth(thickness)
    .strokeColor(color)
    .stroke();
  pdf.y += 7;
}

function drawLines(pdf: Pdf, { groups, money }: Printed): void {
  const columns = columnsOf(pdf);
  drawColumnNames(pdf);
  for (const { title, lines, amount } of groups) {
    ensureRoom(pdf, 3 * lineHeight, () => drawColumnNames(pdf));
    drawRow(pdf, [title, '', money(BigInt(amount))], bold);
    for (const line of lines) {
      const height = pdf
        .font(regular)
        .fontSize(9)
        .heightOfString(line.product, { width: columns.product.width - 12 });
      ensureRoom(pdf, height + 4, () => drawColumnNames(pdf));
      drawRow(pdf, [line.product, line.quantity, money(BigInt(line.amount))], regular);
    }
    pdf.y += 3;
    drawRule(pdf, rule, 0.5);
  }
}

function drawRow(pdf: Pdf, [name, quantity, amount]: readonly [string, string, string], font: string): void {
  const columns = columnsOf(pdf);
  const { y } = pdf;
  const indent = font === bold ? 0 : 12;
  pdf
    .font(font)
    .fontSize(9)
    .fillColor(font === bold ? ink : faint);
  pdf.text(name, columns.product.x + indent, y, { width: columns.product.width - indent });
  const below = Math.max(pdf.y, y + lineHeight - 3);
  pdf.text(quantity, columns.quantity.x, y, { width: columns.quantity.width, align: 'right' });
  pdf.fillColor(ink).text(amount, columns.amount.x, y, { width: columns.amount.width, align: 'right' });
  pdf.y = below + 3;
}

function drawTotals(pdf: Pdf, { totals, money, vat_percent, is_reverse_charged }: Printed): void {
  const amount = (text: string) => money(BigInt(text));
  const less = (text: string) => money(-BigInt(text));
  const isThere = (text: string) => text !== '0';
  const net = BigInt(totals.baseprice) - BigInt(totals.discount) - BigInt(totals.voucher);
  const rows: [string, string][] = [
    ['Subtotal', amount(totals.baseprice)],
    ...(isThere(totals.discount) ? ([['Discounts', less(totals.discount)]] as [string, string][]) : []),
    ...(isThere(totals.voucher) ? ([['Vouchers', less(totals.voucher)]] as [string, string][]) : []),
    ...(String(net) === totals.baseprice ? [] : ([['Net', money(net)]] as [string, string][])),
    [is_reverse_charged ? 'VAT: reverse charge' : `VAT ${vat_percent} %`, amount(totals.vat)],
  ];
  const due = BigInt(totals.total) - BigInt(totals.prepaid);
  const height = (rows.length + (isThere(totals.prepaid) ? 2 : 0)) * lineHeight + 40;
  ensureRoom(pdf, height);
  pdf.y += 6;
  for (const [name, value] of rows) drawTotal(pdf, name, value, 9, faint);
  drawHalfRule(pdf);
  drawTotal(pdf, 'Total', amount(totals.total), 13, ink);
  if (!isThere(totals.prepaid)) return;
  drawTotal(pdf, 'Prepaid', less(totals.prepaid), 9, faint);
  drawTotal(pdf, 'Left to pay', money(due), 11, ink);
}

const totalsAt = 0.52;

function drawHalfRule(pdf: Pdf): void {
  const width = widthOf(pdf);
  pdf
    .moveTo(margin + width * totalsAt, pdf.y + 1)
    .lineTo(margin + width, pdf.y + 1)
    .lineWidth(0.8)
    .strokeColor(ink)
    .stroke();
  pdf.y += 8;
}

function drawTotal(pdf: Pdf, name: string, value: string, size: number, color: string): void {
  const width = widthOf(pdf);
  const { y } = pdf;
  const font = color === ink ? bold : regular;
  pdf
    .font(font)
    .fontSize(size)
    .fillColor(color)
    .text(name, margin + width * totalsAt, y, { width: width * 0.25 });
  pdf.fillColor(ink).text(value, margin + width * totalsAt, y, { width: width * (1 - totalsAt), align: 'right' });
  pdf.y = y + Math.max(lineHeight, size + 7);
}

function drawClosing(pdf: Pdf, { seller, type, due_on, is_reverse_charged, totals, corrects }: InvoiceDocument): void {
  const isPaid = totals.prepaid === totals.total;
  const sentences = [
    ...(type === 'credit_memo' ? [`This credit memo corrects the invoice ${corrects}.`] : []),
    ...(type === 'invoice' && (isPaid || due_on === null) ? ['Nothing is left to be paid.'] : []),
    ...(type === 'invoice' && due_on !== null && !isPaid ? [`Please pay until ${due_on}.`, seller.payment] : []),
    ...(is_reverse_charged ? ['Reverse charge: the recipient of the services is liable for the value added tax.'] : []),
  ].filter((sentence) => sentence !== '');
  if (sentences.length === 0) return;
  const text = sentences.join('\n');
  const options = { width: widthOf(pdf), lineGap: 3 };
  pdf.font(regular).fontSize(9.5).fillColor(ink);
  ensureRoom(pdf, pdf.heightOfString(text, options) + 18);
  pdf.text(text, margin, pdf.y + 18, options);
}

function drawFooters(pdf: Pdf, { seller, number }: InvoiceDocument): void {
  const { start, count } = pdf.bufferedPageRange();
  const facts = [seller.name, seller.vat_number === '' ? '' : `VAT number ${seller.vat_number}`, seller.email].filter(
    (fact) => fact !== '',
  );
  for (let page = start; page < start + count; page += 1) {
    pdf.switchToPage(page);
    // Text below the margin would begin a page of its own.
    pdf.page.margins.bottom = 0;
    const y = pdf.page.height - margin + 8;
    pdf
      .moveTo(margin, y - 10)
      .lineTo(margin + widthOf(pdf), y - 10)
      .lineWidth(0.5)
      .strokeColor(rule)
      .stroke();
    pdf.font(regular).fontSize(8).fillColor(faint);
    pdf.text(facts.join('   |   '), margin, y, { width: widthOf(pdf) * 0.72, lineBreak: false });
    pdf.text(`${number}, page ${page - start + 1} of ${count}`, margin, y, {
      width: widthOf(pdf),
      align: 'right',
      lineBreak: false,
    });
  }
}
