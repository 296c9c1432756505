/** Amounts as clients ask for them: a text, or with `format=complex` an object. */
import { Type } from 'typebox';
import { amountText, CurrencyAmount, currencyAmount, formatted, noCurrency, type Currency } from '../prices/public.ts';

export const Format = Type.Optional(Type.String({ enum: ['formatted', 'complex'], default: 'formatted' }));

export const Money = Type.Unsafe<string | ReturnType<typeof currencyAmount>>({
  anyOf: [{ type: 'string' }, JSON.parse(JSON.stringify(CurrencyAmount))],
});

export const moneyIn = (format: string | undefined, currency: Currency) => (amount: bigint) =>
  format === 'complex' ? currencyAmount(amount, currency) : formatted(amount, currency);

/** A number of the currency, for fields that are declared as numbers. */
export const amountNumber = (amount: bigint, currency: Currency): number => Number(amountText(amount, currency));

const priceDecimalsMax = 10;

/** Prices have more decimals than amounts. */
export const formattedPrice = (price: string, currency: Currency): string =>
  currency === noCurrency
    ? price
    : new Intl.NumberFormat('en-US', { style: 'currency', currency, maximumFractionDigits: priceDecimalsMax }).format(price as `${number}`);

export const shownPrice = (format: string | undefined, currency: Currency) => (price: string) =>
  format === 'complex'
    ? { ...currencyAmount(0n, currency), formatted: formattedPrice(price, currency), amount: Number(price) }
    : formattedPrice(price, currency);
