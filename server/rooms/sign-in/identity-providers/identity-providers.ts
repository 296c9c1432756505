/** The identity providers of this installation, as the sign-in page and its steps know them. */
import { openOperatorsOutbound } from '../../../drivers/outbound/outbound.ts';
import type { Platform } from '../../../platform.ts';
import { openIdentityProvider, type IdentityProvider } from './open-identity-provider.ts';

/** Where a provider sends the browser back to: an address for each, so that the answer of one is never taken for that of another. */
export const returnPath = (id: string) => `/signed-in/with/${id}`;

export function openIdentityProviders({ config, outbound }: Platform): ReadonlyMap<string, IdentityProvider> {
  const ways = { outbound, operatorsOutbound: openOperatorsOutbound() };
  return new Map(
    config.identityProviders.map((settings) => [
      settings.id,
      openIdentityProvider(settings, ways, `${config.url}${returnPath(settings.id)}`),
    ]),
  );
}
