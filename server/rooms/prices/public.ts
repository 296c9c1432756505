/** What other rooms may know of prices: the lists, what is charged, and how amounts are reckoned and written. */
export { featureNames, features, type Feature, type FeatureName } from './features.ts';
export {
  amountOf,
  amountText,
  currencyAmount,
  CurrencyAmount,
  decimal,
  digitsOf,
  dividedBy,
  formatted,
  minorOf,
  noCurrency,
  one,
  type Currency,
} from './money.ts';
export { builtInPriceList, priceOf, readPriceList, type PriceContent, type PriceList } from './price-list.ts';
export { currencyFor, insertPriceList, listOn, priceListOn, priceLists, priceListToday } from './queries.ts';
