/** In which currency an organization is billed: that of its country where it is one in which prices can be kept, otherwise the default. */
const euroCountries = 'AD AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MC ME MT NL PT SI SK SM VA XK'.split(' ');

const currencies: Record<string, string> = {
  ...Object.fromEntries(euroCountries.map((country) => [country, 'EUR'])),
  AU: 'AUD',
  CA: 'CAD',
  GB: 'GBP',
  US: 'USD',
};

const currencyDefault = 'EUR';

export const currencyOf = (country: string): string => currencies[country] ?? currencyDefault;
