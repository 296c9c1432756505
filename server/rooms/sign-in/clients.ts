/**
 * The programs that may act for people. They run on people's machines, so none has a secret; what protects them is PKCE and that a browser
 * sign-in can only lead back to the machine it began on.
 */
import type { ClientMetadata } from 'oidc-provider';

const names: Record<string, string> = {
  'platform-api-user': 'The API client',
  'platform-cli': 'The Platform.sh CLI',
  'upsun-cli': 'The Upsun CLI',
  'offshoot-cli': 'The Offshoot CLI',
};

export const clientName = (id: string) => (id === pagesClientId ? 'This page' : isClient(id) ? names[id] : undefined);

export const isClient = (id: string) => Object.hasOwn(names, id);

/** Redirects to any port of these hosts are accepted, because a client listens on the first free port. */
const loopback = ['http://127.0.0.1', 'http://localhost'];

export const clients: ClientMetadata[] = Object.entries(names).map(([client_id, client_name]) => ({
  client_id,
  client_name,
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['api_token', 'authorization_code', 'refresh_token'],
  response_types: ['code'],
  redirect_uris: loopback,
}));

/** The client of our own pages. They only need to know who is at the browser, so this client is never given a token. */
export const pagesClientId = 'offshoot-pages';
export const signedInPath = '/signed-in';

export const pagesClient = (url: string): ClientMetadata => ({
  client_id: pagesClientId,
  application_type: 'web',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code'],
  response_types: ['code'],
  redirect_uris: [`${url}${signedInPath}`],
});
