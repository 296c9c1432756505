/**
 * The way out to another identity provider and back, as a part of a sign-in that is under way here. Which browser it belongs to is known from the cookie of that sign-in, so an answer that
 * somebody else fetched is worth nothing in it. What the provider says replaces the password and nothing else: whoever has a second factor here is still asked for it.
 */
import type { FastifyInstance } from 'fastify';
import type { Provider } from 'oidc-provider';
import { OutboundFault } from '../../../drivers/outbound/faults.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Platform } from '../../../platform.ts';
import { countAttempts, networkOf } from '../attempts.ts';
import { asked, goOn, interactionAt, loginAs } from '../interactions.ts';
import { knownBrowserOf } from '../known-browser.ts';
import { answerPageError } from '../layout.ts';
import { pagesPath } from '../provider.ts';
import { connectedUser, type Refusal } from './connected-user.ts';
import { returnPath } from './identity-providers.ts';
import type { Identity, IdentityProvider } from './open-identity-provider.ts';
import { comeBack, leaveFor, uidOf } from './sign-ins-elsewhere.ts';

type Address = { Params: { uid: string; provider: string } };
const wayPath = `${pagesPath}/:uid/with/:provider`;

/** The word for it in access tokens (`amr`). */
const federated = 'federated';

export function mountIdentityProviders(
  http: FastifyInstance,
  platform: Platform,
  provider: Provider,
  identityProviders: ReadonlyMap<string, IdentityProvider>,
) {
  const options = { errorHandler: answerPageError };
  const providerAt = (id: string) => {
    const found = identityProviders.get(id);
    if (!found) throw new Problem('not-found', 'There is no such identity provider here.');
    return found;
  };

  http.get<Address>(wayPath, options, async (request, reply) => {
    const interaction = await interactionAt(provider, request, reply);
    const elsewhere = providerAt(request.params.provider);
    await countAttempts(platform.db, [{ limit: 'authorization from visitor', of: networkOf(request.ip) }]);
    const wishes = { login: asked(interaction, 'login_hint'), again: asked(interaction, 'prompt').split(' ').includes('login') };
    try {
      const left = await leaveFor(platform, elsewhere.id, interaction.uid);
      return await reply.redirect(await elsewhere.signInAddress(left, wishes), 303);
    } catch (error) {
      return reply.redirect(refusedAt(interaction.uid, elsewhere, failureOf(error, elsewhere, platform)), 303);
    }
  });

  // The cookie of the sign-in is sent to its own address only, so the return passes on what it was given.
  http.get<{ Params: { provider: string } }>(returnPath(':provider'), options, (request, reply) => {
    const query = queryOf(request.url);
    const uid = uidOf(query.get('state') ?? '');
    if (uid === undefined) throw new Problem('invalid-request', 'This sign-in was not started on this site; go back, and start again.');
    return reply.redirect(`${pagesPath}/${uid}/with/${encodeURIComponent(request.params.provider)}/answer?${query.toString()}`, 303);
  });

  http.get<Address>(`${wayPath}/answer`, options, async (request, reply) => {
    const interaction = await interactionAt(provider, request, reply);
    const elsewhere = providerAt(request.params.provider);
    const query = queryOf(request.url);
    const left = await comeBack(platform, elsewhere.id, interaction.uid, query.get('state') ?? '');
    if (!left) throw new Problem('invalid-request', 'This answer was used already, or is not for this sign-in; go back, and start again.');
    const refuse = (refusal: Refusal) => reply.redirect(refusedAt(interaction.uid, elsewhere, refusal), 303);
    let identity: Identity;
    try {
      identity = await elsewhere.identityOf(query, left);
    } catch (error) {
      return refuse(failureOf(error, elsewhere, platform));
    }
    const user = await connectedUser(platform, elsewhere, identity);
    if (typeof user === 'string') return refuse(user);
    const result = await loginAs(provider, interaction, user.id, [federated]);
    const browser = knownBrowserOf(request, platform);
    return goOn({ interaction, browser }, user.mfa_enabled ? { result } : { result, signedIn: user.id }, reply, platform);
  });
}

/** People are told to try again; why is for the operator, who has set the provider. */
function failureOf(error: unknown, { name }: IdentityProvider, { log }: Platform): Refusal {
  log.warn({ err: error }, `signing in with ${name} failed`);
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return cause instanceof OutboundFault ? 'unreachable' : 'failed';
}

const refusedAt = (uid: string, { id }: IdentityProvider, refusal: Refusal) =>
  `${pagesPath}/${uid}?${new URLSearchParams({ with: id, refused: refusal }).toString()}`;

const queryOf = (url: string) => new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
