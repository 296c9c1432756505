/** Forms that people send from our pages, without JavaScript. */
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../kernel/problem.ts';

export const formBytesMax = 16 * 1024;
export const fieldCharactersMax = 300;

export function formOf(request: FastifyRequest): URLSearchParams {
  refuseOtherSites(request);
  return new URLSearchParams(typeof request.body === 'string' ? request.body : '');
}

/** Browsers say where a request comes from, in Sec-Fetch-Site or else in Origin. `SameSite` cookies are the first guard. */
export function refuseOtherSites({ headers, host }: FastifyRequest) {
  const { origin, 'sec-fetch-site': site } = headers;
  const isOurs =
    site === undefined ? origin === undefined || (URL.canParse(origin) && new URL(origin).host === host) : site === 'same-origin';
  if (!isOurs) throw new Problem('forbidden', 'This form was sent from another site; open the page here, and send it again.');
}
