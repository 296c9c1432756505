/** Signing in: passwords, API tokens and browser sign-ins, all of which end in an access token; and who the bearer of one is. */
import type { Room } from '../../kernel/room.ts';
import { mountAuthorize } from './authorize.ts';
import { mountReturn } from './browser-session.ts';
import { openIdentityProviders } from './identity-providers/identity-providers.ts';
import { mountIdentityProviders } from './identity-providers/mount-identity-providers.ts';
import { openHandOver } from './hand-over.ts';
import * as operations from './operations.ts';
import { openProvider } from './provider.ts';
import * as signInOperations from './sign-in-operations.ts';
import { mountSteps } from './steps.ts';
import { mountTokenEndpoint } from './token-endpoint.ts';

export const signIn: Room = {
  name: 'Sign-in',
  about: 'How people and programs prove who they are: OAuth 2.0 at /oauth2, and certificates for SSH.',
  operations: { ...operations, ...signInOperations },
  mount(http, platform) {
    const provider = openProvider(platform);
    const handOver = openHandOver(provider, platform.config.url);
    mountTokenEndpoint(http, platform, provider, handOver);
    mountAuthorize(http, platform, handOver);
    const identityProviders = openIdentityProviders(platform);
    mountSteps(http, platform, provider, identityProviders);
    mountIdentityProviders(http, platform, provider, identityProviders);
    mountReturn(http, platform);
  },
};
