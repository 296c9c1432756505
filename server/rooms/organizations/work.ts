/** What the operator at the machine may have done with organizations. */
export { reasonCharactersMax, resumeOrganization, suspendOrganization } from './suspend-organization.ts';
