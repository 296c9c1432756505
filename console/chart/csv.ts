/** Tables as files that spreadsheets open. */
import type { Cell } from './chart-data.ts';

/** Names come from whoever visits a site. A spreadsheet takes a text that begins with one of these for a formula, and would carry it out. */
const formula = /^[=+\-@\t\r]/;
const special = /[",\r\n]/;

export const csvOf = (rows: readonly (readonly Cell[])[]): string => rows.map((row) => `${row.map(cellText).join(',')}\r\n`).join('');

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = formula.test(cell) ? `'${cell}` : cell;
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function download(name: string, rows: readonly (readonly Cell[])[]) {
  const url = URL.createObjectURL(new Blob([csvOf(rows)], { type: 'text/csv' }));
  const link = document.createElement('a');
  [link.href, link.download] = [url, `${name.replaceAll(/[^\p{L}\p{N}.-]+/gu, '-')}.csv`];
  link.click();
  URL.revokeObjectURL(url);
}
