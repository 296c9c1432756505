/** What other rooms may use of subscriptions: a project as its organization sees it, its contract, and what a contract can say. */
export { findSubscription, findSubscriptionById, SubscriptionEntity } from './subscription.ts';
export { environmentsDefault, planOffered, storageMibDefault } from './options.ts';
export { OrganizationProjectEntity } from './organization-project.ts';
