/** Refusals in the bodies that released clients take apart. */
import { Problem } from '../../kernel/problem.ts';
import { refusedFields } from '../certificates/public.ts';

/** One bad field, in the words of the field; clients show people what stands under `error`. */
export const refusedField = (field: string, message: string) => refusedFields({ [field]: message });

/** `{default}` is one host, which others are below; a wildcard stands for it only where there is nothing else. */
export function refuseWildcardAsDefault(name: string, field = 'is_default'): void {
  if (name.startsWith('*.')) throw refusedField(field, `cannot be ${name}, which stands for many names; choose one of them`);
}

/** Nobody is told whose project that is. */
export const claimedByOthers = (registered: string) =>
  refusedField('name', `is in ${registered}. This domain is already claimed by another service`);

export const tooManyEnvironments = (limit: number, environments: readonly string[]) =>
  new Problem(
    'payment-required',
    `At most ${limit} environments beside production can have domains; delete the domains of one of them first.`,
    { body: { detail: { environments_with_domains_limit: limit, environments_with_domains: environments } } },
  );

export const alreadyReplaced = (environment: string, conflicting: string) =>
  new Problem(
    'conflict',
    `The environment ${environment} already has a domain with the same replacement_for: ${conflicting}. Delete that one first.`,
    { body: { detail: { conflicting_domain: conflicting } } },
  );

export const notInProduction = (replacementFor: string, production: readonly string[]) =>
  new Problem(
    'conflict',
    `${replacementFor} has no corresponding domain set on the production environment; add it there first, or name one that is.`,
    { body: { detail: { 'prod-domains': production } } },
  );
