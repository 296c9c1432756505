/** A price list, as the operator writes it: YAML or JSON, in which every number is a decimal and is read as it is written. What is left out costs nothing. */
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { parse } from 'yaml';
import { dayAt, startOf, type Day } from '../../kernel/days.ts';
import { Problem } from '../../kernel/problem.ts';
import { Line } from '../../kernel/schema.ts';
import { flawOf, mapBy } from '../../kernel/stored-json.ts';
import { featureNames } from './features.ts';
import { decimalPattern, noCurrency } from './money.ts';

const Decimal = Type.String({ pattern: decimalPattern });
const Percentage = Type.String({ pattern: String.raw`^(100(\.0+)?|\d{1,2}(\.\d{1,4})?)$` });
const name = '^[a-z0-9_-]{1,60}$';
const country = '^([A-Z]{2}|default)$';

const Seller = Type.Partial(
  Type.Object({
    name: Line(200),
    address: Type.Array(Line(200), { maxItems: 8 }),
    country: Type.String({ pattern: '^[A-Z]{2}$' }),
    vat_number: Line(60),
    email: Line(254),
    /** What is printed on invoices about how to pay. */
    payment: Line(500),
    payment_days: Type.String({ pattern: String.raw`^\d{1,3}$` }),
    invoice_prefix: Line(20),
  }),
  { additionalProperties: false },
);

/** A part of the list is optional to the operator, and always there in code. */
const Content = Type.Object(
  {
    /** What a project costs for a month, by its plan. */
    plans: mapBy(name, Decimal),
    /** What is metered: the price of a unit, and how many units of a project are free in a month. */
    usage: mapBy(`^(${featureNames.join('|')})$`, Type.Object({ price: Type.Optional(Decimal), free: Type.Optional(Decimal) })),
    /** Percent off what uses electricity, in a green region. */
    green_discount: Percentage,
    /** Users for a month, by what they may do. */
    licences: mapBy('^(admin_user|viewer_user)$', Decimal),
    /** Each user for a month, by the level of the management of users. */
    user_management: mapBy(name, Decimal),
    /** Percent of what everything else costs. */
    support_levels: mapBy(name, Percentage),
    /** What a project can have beside: for a month, by its level. */
    addons: mapBy('^(continuous_profiling|project_support_level)$', mapBy(name, Decimal)),
    /** What is taken off in a month where the operator gives an allowance. */
    allowance: Decimal,
    /** Percent, by the country of who pays. */
    vat: mapBy(country, Percentage),
    seller: Seller,
  },
  { additionalProperties: false },
);

export type PriceContent = Static<typeof Content>;

/** What is not sold costs nothing. Somebody may have chosen the name, so only what stands in the list itself counts: every object has a `constructor`. */
export const priceOf = (prices: Record<string, string>, name: string): string =>
  (Object.hasOwn(prices, name) ? prices[name] : undefined) ?? '0';

export interface PriceList {
  /** 0: the one that is built in. */
  version: number;
  currency: string;
  effective_from: Day;
  content: PriceContent;
}

const emptyContent: PriceContent = {
  plans: {},
  usage: {},
  green_discount: '3',
  licences: {},
  user_management: {},
  support_levels: {},
  addons: {},
  allowance: '0',
  vat: {},
  seller: {},
};

/** What holds where the operator set nothing. */
export const builtInPriceList: PriceList = { version: 0, currency: noCurrency, effective_from: '1970-01-01', content: emptyContent };

const File = Type.Object(
  { currency: Type.String({ pattern: '^[A-Z]{3}$' }), from: Type.String(), ...Type.Partial(Content).properties },
  { additionalProperties: false },
);

const refused = (sentence: string) => new Problem('invalid-request', `The price list cannot be used: ${sentence}.`);

export function readPriceList(text: string): Omit<PriceList, 'version'> {
  const written = parsed(text);
  if (!Value.Check(File, written)) throw refused(flawOf(File, written));
  const { currency, from, ...parts } = written;
  if (!Intl.supportedValuesOf('currency').includes(currency)) throw refused(`${currency} is no currency (ISO 4217)`);
  if (Number.isNaN(startOf(from)) || dayAt(startOf(from)) !== from) throw refused('from must be a day, such as 2026-02-01');
  return { currency, effective_from: from, content: { ...emptyContent, ...parts } };
}

/** The failsafe schema reads no numbers: 18.10 is the text that stands there. */
function parsed(text: string): unknown {
  try {
    return parse(text, { schema: 'failsafe' });
  } catch (error) {
    throw refused(error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error));
  }
}
