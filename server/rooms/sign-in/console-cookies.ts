/**
 * Where the console's refresh token is: in a cookie that only our OAuth2 endpoints heed and that no script can read. The page itself has nothing but
 * access tokens, in its memory. A second cookie, which says nothing, lets the page know that asking for an access token is worth while.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { refuseOtherSites } from './forms.ts';

/**
 * Environments may be served beside the console, under the same domain, and could set a cookie for both: somebody would be signed in as somebody else. Over https browsers
 * take a cookie of this name from the console's own host alone, and only for all of its paths.
 */
const isSecure = (url: string) => url.startsWith('https:');
const refreshTokenCookie = (url: string) => (isSecure(url) ? '__Host-offshoot_console' : 'offshoot_console');
const refreshTokenPath = (url: string) => (isSecure(url) ? '/' : '/oauth2');
const signedInCookie = 'offshoot_console_signed_in';
/** As long as a session of a browser. */
const cookieSecondsMax = 14 * 24 * 60 * 60;

/** The refresh token of the console at this browser; it counts only for a page of ours. */
export function keptRefreshToken(request: FastifyRequest, url: string): string | undefined {
  refuseOtherSites(request);
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('=', 2));
  return pairs.find(([name]) => name === refreshTokenCookie(url))?.[1];
}

/** Moves the refresh token out of a reply of the token endpoint; a refusal ends what was kept. */
export function keepRefreshToken(ctx: KoaContextWithOIDC, reply: Record<string, unknown>, url: string) {
  const { refresh_token: token } = reply;
  delete reply['refresh_token'];
  if (typeof token === 'string') ctx.append('set-cookie', cookies(url, token, cookieSecondsMax));
  else if (reply['error'] === 'invalid_grant') ctx.append('set-cookie', cookies(url, '', 0));
}

export const forgetRefreshToken = (reply: FastifyReply, url: string) => reply.header('set-cookie', cookies(url, '', 0));

function cookies(url: string, token: string, seconds: number): string[] {
  const attributes = `Max-Age=${seconds}; SameSite=Strict${isSecure(url) ? '; Secure' : ''}`;
  return [
    `${refreshTokenCookie(url)}=${token}; Path=${refreshTokenPath(url)}; HttpOnly; ${attributes}`,
    `${signedInCookie}=${token === '' ? '' : '1'}; Path=/console; ${attributes}`,
  ];
}
