/**
 * What stays possible in an organization that the operator has suspended, and what everybody is told about the rest. The gate is one, for requests, links, Git and
 * SSH: what the caller is hindered by (rooms/sign-in/caller.ts).
 */
import type { Requirement } from './kernel/access.ts';
import type { Endpoint } from './kernel/operation.ts';
import { Problem } from './kernel/problem.ts';

export interface Suspension {
  /** Of the organization. */
  id: string;
  label: string;
  /** In the operator's words; empty where none were given. */
  reason: string;
}

/** Tickets belong to people, so they need no line here. */
const staysPossible: { methods: readonly string[]; permissions: readonly Requirement[]; endpoints: readonly Endpoint[] } = {
  /** Reading, and deleting. */
  methods: ['GET', 'DELETE'],
  /** Paying, and asking what something would cost. */
  permissions: ['billing:view', 'billing:manage', 'contract:view'],
  /** An environment is deactivated before it can be deleted. */
  endpoints: ['POST /projects/{projectId}/environments/{environmentId}/deactivate'],
};

export const isPossibleWhileSuspended = (permission: Requirement | undefined, endpoint: Endpoint): boolean =>
  staysPossible.methods.includes(endpoint.slice(0, endpoint.indexOf(' '))) ||
  (permission !== undefined && staysPossible.permissions.includes(permission)) ||
  staysPossible.endpoints.includes(endpoint);

export const suspensionSentence = ({ label, reason }: Omit<Suspension, 'id'>): string =>
  `The organization ${label} is suspended${reason === '' ? '' : ` (${reason})`}: its environments are paused and its data is kept. ` +
  'You can still read, pay, open tickets and delete; for anything else pay what is due, or ask the operator of this installation to resume it.';

export const suspended = (suspension: Suspension) => new Problem('payment-required', suspensionSentence(suspension));
