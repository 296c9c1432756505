/** What other rooms may know of domain names: with which an environment's routes are resolved, and whose a name is. */
export { standingsOf, type Standing } from './claims-over.ts';
export { defaultDomainOf, domainNamesOf, hasDomains, hostsToResolveWith, type DomainNames } from './names-of-environment.ts';
