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

export const clientName = (id: string): string | undefined => ownNames[id] ?? (Object.hasOwn(names, id) ? names[id] : undefined);

/** Whether this client may exchange something for tokens. */
export const isClient = (id: string) => Object.hasOwn(names, id) || id === consoleClientId;

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

/**
 * The client of the console, which is a page of ours in the person's own browser. Nobody is asked whether it may act for them. Its refresh token is in a
 * cookie that no script can read (console-cookies.ts), and is worth nothing once the session of the browser ends.
 */
export const consoleClientId = 'offshoot-console';
export const consoleReturnPath = '/console/signed-in';

export const consoleClient = (url: string): ClientMetadata => ({
  client_id: consoleClientId,
  application_type: 'web',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  redirect_uris: [`${url}${consoleReturnPath}`],
});

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

const ownNames: Readonly<Record<string, string>> = { [pagesClientId]: 'This page', [consoleClientId]: 'The console' };
