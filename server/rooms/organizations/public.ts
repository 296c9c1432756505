/** What other rooms may use of organizations: lookups, membership, and who may grant what. */
/** For rooms that bill. */
export { billingDetailsOf, billingRecipients, type BillingDetails } from './billing-queries.ts';
/** For rooms that let people in, by invitation or with access to a project. */
export { acceptMembership, joinOrganization, refuseTooManyMembers, refuseWithoutRoom } from './membership.ts';
export { keptPermissions, lackedOf, OrganizationPermissions, refuseGrantingMore } from './granting.ts';
export { OrganizationAddress, OrganizationEntity } from './organization.ts';
/** For whoever follows the suspension of organizations. */
export { alignProjects, isOfSuspended } from './suspend-organization.ts';
export { lockOrganization, memberAt, organizationAt, setUsersMax, type Organization } from './queries.ts';
export { countryOfVatNumber } from './vat-number.ts';
