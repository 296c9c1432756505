/** Tables as files that spreadsheets open: CSV (RFC 4180). */
import { saveFile } from './save-file.ts';

export type Cell = string | number | null;
type Rows = readonly (readonly Cell[])[];

/** Names come from whoever visits a site. A spreadsheet takes a text that begins with one of these for a formula, and would carry it out. */
const formula = /^[=+\-@\t\r]/;
const special = /[",\r\n]/;

export const csvOf = (rows: Rows): string => rows.map((row) => `${row.map(cellText).join(',')}\r\n`).join('');

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = formula.test(cell) ? `'${cell}` : cell;
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const saveCsv = (name: string, rows: Rows) => saveFile(`${name.replaceAll(/[^\p{L}\p{N}.-]+/gu, '-')}.csv`, 'text/csv', csvOf(rows));
