/** Forms that people send from our pages, without JavaScript. */
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../kernel/problem.ts';

export const formBytesMax = 16 * 1024;
export const fieldCharactersMax = 300;

/** Refuses forms from other sites: browsers say where a form comes from, in Sec-Fetch-Site or else in Origin. `SameSite=Lax` cookies are the first guard. */
export function formOf({ body, headers, host }: FastifyRequest): URLSearchParams {
  const { origin, 'sec-fetch-site': site } = headers;
  const isOurs =
    site === undefined ? origin === undefined || (URL.canParse(origin) && new URL(origin).host === host) : site === 'same-origin';
  if (!isOurs) throw new Problem('forbidden', 'This form was sent from another site; open the page here, and send it again.');
  return new URLSearchParams(typeof body === 'string' ? body : '');
}
