/**
 * `GET /oauth2/authorize`, in front of the OAuth2 library, and the documents that describe it. A browser sign-in begins and ends here;
 * what people see in between is in steps.ts.
 */
import type { FastifyInstance } from 'fastify';
import type { Platform } from '../../platform.ts';
import { countAttempts, networkOf } from './attempts.ts';
import type { HandOver } from './hand-over.ts';
import { knownBrowserOf } from './known-browser.ts';
import { answerPageError } from './layout.ts';
import { apiScope } from './provider.ts';

const documents = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/oauth2/jwks'];

export function mountAuthorize(http: FastifyInstance, platform: Platform, handOver: HandOver) {
  for (const url of documents) {
    http.get(url, (request, reply) => handOver(request, reply, { method: 'GET', url, accept: 'application/json' }));
  }

  const options = { errorHandler: answerPageError };
  http.get('/oauth2/authorize', options, async (request, reply) => {
    const visitor = knownBrowserOf(request, platform)?.userId ?? networkOf(request.ip);
    await countAttempts(platform.db, [{ limit: 'authorization from visitor', of: visitor }]);
    const url = `/oauth2/authorize?${asTheLibraryExpects(request.url).toString()}`;
    await handOver(request, reply, { method: 'GET', url, accept: 'text/html' });
  });

  http.get<{ Params: { uid: string } }>('/oauth2/authorize/:uid', options, (request, reply) =>
    handOver(request, reply, { method: 'GET', url: `/oauth2/authorize/${encodeURIComponent(request.params.uid)}`, accept: 'text/html' }),
  );
}

/**
 * Clients ask for `offline_access` alone, and mean the API as well. They limit how long ago the sign-in may have been (`max_age`), which the
 * protocol defines only together with `openid`. `select_account` needs no page of its own: the consent page always offers another account.
 */
function asTheLibraryExpects(url: string): URLSearchParams {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
  if (query.getAll('scope').length < 2)
    query.set('scope', words(query.get('scope'), apiScope, ...(query.has('max_age') ? ['openid'] : [])));
  if (query.getAll('prompt').length === 1) query.set('prompt', words(query.get('prompt')?.replace('select_account', '')) || 'consent');
  return query;
}

const words = (text: string | null | undefined, ...more: string[]) =>
  [...new Set([...(text ?? '').split(' '), ...more])].filter((word) => word !== '').join(' ');
