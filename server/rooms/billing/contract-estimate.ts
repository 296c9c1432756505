/** What a contract costs for a month by today's prices, and what more of something would. */
import { amountOf, decimal, dividedBy, featureNames, minorOf, one, priceOf, type FeatureName, type PriceList } from '../prices/public.ts';

export interface ContractAsked {
  plan: string;
  /** MiB. */
  storage: number;
  user_licenses: number;
}

const mebibytes = 1024n;

export function estimateContract(
  { currency, content: { plans, licences, usage } }: PriceList,
  { plan, storage, user_licenses }: ContractAsked,
) {
  const { price = '0', free = '0' } = usage['storage_app_services'] ?? {};
  const charged = BigInt(storage) * one - decimal(free) * mebibytes;
  return {
    plan: amountOf(decimal(priceOf(plans, plan)), currency),
    user_licenses: amountOf(decimal(licences['admin_user'] ?? '0') * BigInt(user_licenses), currency),
    storage: charged <= 0n ? 0n : dividedBy(charged * decimal(price) * minorOf(currency), mebibytes * one * one),
  };
}

/** By the names of features, and of users. */
export const unitPrices = ({ content: { usage, licences } }: PriceList): Record<string, string> => ({
  ...Object.fromEntries(featureNames.map((name) => [name, usage[name]?.price ?? '0'])),
  user_licenses: licences['admin_user'] ?? '0',
});

/** Beside the features themselves, what clients call what is allocated to apps. */
const shortNames: Record<string, FeatureName> = { cpu: 'cpu_app', memory: 'memory_app', storage: 'storage_app_services' };

export const resourceNames = [...Object.keys(shortNames), ...featureNames];
export const isResource = (name: string) => resourceNames.includes(name);

export const costOfMore = ({ currency, content: { usage } }: PriceList, resources: Record<string, unknown>): bigint =>
  Object.entries(resources).reduce((sum, [name, quantity]) => {
    const price = usage[shortNames[name] ?? name]?.price ?? '0';
    return sum + dividedBy(decimal(String(quantity)) * decimal(price) * minorOf(currency), one * one);
  }, 0n);
