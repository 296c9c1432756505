/** What other rooms may use of subscriptions: a project as its organization sees it, and its contract by the id alone. */
export { findSubscriptionById } from './subscription.ts';
export { OrganizationProjectEntity } from './organization-project.ts';
