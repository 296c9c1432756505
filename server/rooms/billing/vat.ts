/**
 * What tax is added: the percentage of the country of who pays, as the price list has it. A company with a VAT number of another country of the European Union than the
 * seller's owes it there itself: the invoice says so, and names both numbers.
 */
import { countryOfVatNumber } from '../organizations/public.ts';
import { priceOf, type PriceContent } from '../prices/public.ts';

const unionCountries = new Set('AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK'.split(' '));

export interface Taxed {
  country: string;
  vat_number: string;
}

export const isReverseCharged = ({ seller }: PriceContent, { country, vat_number }: Taxed): boolean =>
  seller.country !== undefined &&
  [country, countryOfVatNumber(vat_number)].every((each) => each !== undefined && each !== seller.country && unionCountries.has(each)) &&
  unionCountries.has(seller.country);

export const vatPercentOf = (content: PriceContent, payer: Taxed): string =>
  isReverseCharged(content, payer) ? '0' : priceOf(content.vat, Object.hasOwn(content.vat, payer.country) ? payer.country : 'default');
