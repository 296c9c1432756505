/**
 * Who is at the browser, for pages of ours that are for somebody in particular, and the way through the sign-in pages and back. That way is
 * the one of any program, with a client of our own (clients.ts): the session it leaves behind is all we want of it. Where it leads back to
 * is signed, so that no link from elsewhere makes us send people to another page.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { User } from '../../identity.ts';
import { Problem } from '../../kernel/problem.ts';
import { randomSecret } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import { pagesClientId, signedInPath } from './clients.ts';
import { answerPageError } from './layout.ts';
import { openProvider } from './provider.ts';
import { activeUser } from './queries.ts';

export interface BrowserSession {
  /** The user at the browser; undefined when nobody is signed in, or somebody has shown only the first of two factors. */
  signedInUser(request: FastifyRequest, reply: FastifyReply): Promise<User | undefined>;
  /** Where to send the browser so that it comes back to `returnTo` signed in, if possible as `login`; whoever is signed in is asked anew. */
  signInAddress(returnTo: string, login: string): string;
}

export function openBrowserSession(platform: Platform): BrowserSession {
  const provider = openProvider(platform);
  return {
    async signedInUser(request, reply) {
      const { accountId, amr } = await provider.Session.get(provider.createContext(request.raw, reply.raw));
      const user = accountId === undefined ? undefined : await activeUser(platform.db, accountId);
      return user && (!user.mfa_enabled || amr?.includes('mfa')) ? user : undefined;
    },
    signInAddress(returnTo, login) {
      const parameters = {
        client_id: pagesClientId,
        response_type: 'code',
        redirect_uri: `${platform.config.url}${signedInPath}`,
        /** The challenge is random, because nobody exchanges the code and so nobody needs the verifier. */
        code_challenge: randomSecret(),
        code_challenge_method: 'S256',
        prompt: 'login',
        login_hint: login,
        state: `${platform.secrets.sign(purposeOf(returnTo))}${returnTo}`,
      };
      return `/oauth2/authorize?${new URLSearchParams(parameters).toString()}`;
    },
  };
}

const signatureCharacters = 43;

export function mountReturn(http: FastifyInstance, { secrets }: Platform) {
  const options = { errorHandler: answerPageError };
  http.get(signedInPath, options, (request, reply) => {
    const state = new URLSearchParams(request.url.split('?', 2)[1] ?? '').get('state') ?? '';
    const [signature, returnTo] = [state.slice(0, signatureCharacters), state.slice(signatureCharacters)];
    if (!secrets.isSigned(purposeOf(returnTo), signature))
      throw new Problem('invalid-request', 'This sign-in was not started on this site; go back, and start again.');
    return reply.redirect(returnTo, 303);
  });
}

const purposeOf = (returnTo: string) => `return to ${returnTo}`;
