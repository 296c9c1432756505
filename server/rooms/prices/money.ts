/** Prices and amounts of money are whole numbers here: of a fixed fraction for prices, of the smallest unit of the currency for amounts. Floating point never takes part. */
import { Type } from 'typebox';

/** What prices are written with at most: a request costs little. */
const decimalsMax = 10;
const decimalSyntax = new RegExp(String.raw`^(\d{1,9})(?:\.(\d{1,${decimalsMax}}))?$`);
export const decimalPattern = decimalSyntax.source;

/** A price, a percentage or a quantity: as many of these are one. */
export const one = 10n ** BigInt(decimalsMax);

/** `18.5` as a whole number of its smallest fraction. */
export function decimal(text: string): bigint {
  const [, whole, fraction = ''] = decimalSyntax.exec(text) ?? [];
  if (whole === undefined) throw new Error(`${JSON.stringify(text)} is not a decimal`);
  return BigInt(whole + fraction.padEnd(decimalsMax, '0'));
}

/** Rounded to the nearest; halves away from zero, as invoices have it. */
export function dividedBy(dividend: bigint, divisor: bigint): bigint {
  const half = dividend < 0n ? -divisor / 2n : divisor / 2n;
  return (dividend + half) / divisor;
}

/** An ISO 4217 code. */
export type Currency = string;
/** The code of transactions without a currency: where no price list was ever set. */
export const noCurrency: Currency = 'XXX';

const isNone = (currency: Currency) => currency === noCurrency;

/** How many decimals amounts in a currency have. */
export const digitsOf = (currency: Currency): number =>
  isNone(currency) ? 2 : (new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2);

/** How many of the smallest unit of a currency make one. */
export const minorOf = (currency: Currency): bigint => 10n ** BigInt(digitsOf(currency));

/** A price as an amount. */
export const amountOf = (price: bigint, currency: Currency): bigint => dividedBy(price * minorOf(currency), one);

/** `-12.34`, exactly. */
export function amountText(amount: bigint, currency: Currency): `${number}` {
  const digits = digitsOf(currency);
  const text = String(amount < 0n ? -amount : amount).padStart(digits + 1, '0');
  const sign = amount < 0n ? '-' : '';
  const written = digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
  return `${sign}${written}` as `${number}`;
}

export const formatted = (amount: bigint, currency: Currency): string =>
  isNone(currency)
    ? amountText(amount, currency)
    : new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(amountText(amount, currency));

const symbolOf = (currency: Currency): string =>
  isNone(currency)
    ? ''
    : (new Intl.NumberFormat('en-US', { style: 'currency', currency, currencyDisplay: 'narrowSymbol' })
        .formatToParts(0)
        .find(({ type }) => type === 'currency')?.value ?? currency);

export const CurrencyAmount = Type.Object({
  formatted: Type.String(),
  amount: Type.Number(),
  currency_code: Type.String(),
  currency_symbol: Type.String(),
});

export const currencyAmount = (amount: bigint, currency: Currency) => ({
  formatted: formatted(amount, currency),
  amount: Number(amountText(amount, currency)),
  currency_code: currency,
  currency_symbol: symbolOf(currency),
});
