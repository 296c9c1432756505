/** What other rooms do with domains: choose the default one, and forget those of a project that ends. */
export { chooseDefaultDomain } from './change-domain.ts';
export { forgetDomains } from './claim-name.ts';
export { domainsOfProduction } from './queries.ts';
