/**
 * The pages between the beginning and the end of a browser sign-in, one per prompt of the library's policy (provider.ts). A further step is one
 * more prompt there and one more entry here. Which step a browser is at is known from its signed cookie, not from what it
 * sends; a form counts only when our own page sent it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errors, type Interaction, type Provider } from 'oidc-provider';
import type { Html } from '../../kernel/html.ts';
import type { Platform } from '../../platform.ts';
import { displayName } from '../users/public.ts';
import { countPasscode, countPassword, forgetPasscodes, forgetPasswords, networkOf, type Claimant } from './attempts.ts';
import { clientName } from './clients.ts';
import { fieldCharactersMax, formBytesMax, formOf } from './forms.ts';
import { refusals } from './identity-providers/connected-user.ts';
import type { IdentityProvider } from './identity-providers/open-identity-provider.ts';
import { asked, goOn, interactionAt, leaveSession, loginAs, type Finished } from './interactions.ts';
import { knownBrowserOf, type KnownBrowser } from './known-browser.ts';
import { answerPageError, pageHeaders } from './layout.ts';
import { consentPage, noSecondFactorPage, passcodePage, signInPage, signOutPage, signedOutPage } from './pages.ts';
import { isPassword } from './passwords.ts';
import { pagesPath } from './provider.ts';
import { activeUser, userByLogin } from './queries.ts';
import { isPasscode, useSecondFactor } from './second-factor.ts';

/** What a form leads to: the same page again with an error, the next step, or the sign-in begun anew. */
type Outcome = { refused: Html } | Finished | { restart: true };

/** Who sent a form: the network address, and the browser if it is known. */
interface Sender {
  address: string;
  browser: KnownBrowser | undefined;
}

interface Step {
  page(interaction: Interaction, query: URLSearchParams): Promise<Html>;
  submit(interaction: Interaction, form: URLSearchParams, sender: Sender): Promise<Outcome>;
}

export function mountSteps(
  http: FastifyInstance,
  platform: Platform,
  provider: Provider,
  identityProviders: ReadonlyMap<string, IdentityProvider>,
) {
  const steps: Record<string, Step> = {
    login: signInStep(platform, provider, identityProviders),
    passcode: passcodeStep(platform, provider),
    consent: consentStep(platform, provider),
  };
  const options = { bodyLimit: formBytesMax, errorHandler: answerPageError };

  const current = async (request: FastifyRequest<{ Params: { uid: string } }>, reply: FastifyReply) => {
    const interaction = await interactionAt(provider, request, reply);
    const step = steps[interaction.prompt.name];
    if (!step) throw new errors.SessionNotFound('another step');
    const show = (page: Html, status = 200) =>
      reply
        .code(status)
        .headers(pageHeaders(asked(interaction, 'redirect_uri')))
        .send(page.html);
    return { interaction, step, show };
  };

  http.get<{ Params: { uid: string } }>(`${pagesPath}/:uid`, options, async (request, reply) => {
    const { interaction, step, show } = await current(request, reply);
    return show(await step.page(interaction, new URLSearchParams(request.url.split('?', 2)[1] ?? '')));
  });

  http.post<{ Params: { uid: string } }>(`${pagesPath}/:uid`, options, async (request, reply) => {
    const form = formOf(request);
    const { interaction, step, show } = await current(request, reply);
    const sender = { address: networkOf(request.ip), browser: knownBrowserOf(request, platform) };
    const outcome = await step.submit(interaction, form, sender);
    if ('refused' in outcome) return show(outcome.refused, 401);
    if ('restart' in outcome) return reply.redirect(`/oauth2/authorize?${queryOf(interaction).toString()}`, 303);
    return goOn({ interaction, browser: sender.browser }, outcome, reply, platform);
  });

  http.get('/sign-out', options, (_request, reply) => reply.headers(pageHeaders()).send(signOutPage().html));

  http.post('/sign-out', options, async (request, reply) => {
    formOf(request);
    const session = await provider.Session.get(provider.createContext(request.raw, reply.raw));
    await session.destroy();
    return reply.headers(pageHeaders()).send(signedOutPage().html);
  });
}

function signInStep({ db }: Platform, provider: Provider, identityProviders: ReadonlyMap<string, IdentityProvider>): Step {
  const refusal = 'The e-mail address, username or password is wrong.';
  const elsewhere = [...identityProviders.values()];
  const page = (interaction: Interaction, login: string, error?: string) =>
    signInPage({
      client: clientOf(interaction),
      login,
      error,
      elsewhere: elsewhere.map(({ id, name }) => ({ name, href: `${pagesPath}/${interaction.uid}/with/${id}` })),
    });
  const refusedElsewhere = (query: URLSearchParams) => {
    const [name, refused] = [identityProviders.get(query.get('with') ?? '')?.name, query.get('refused') ?? ''];
    return name !== undefined && isRefusal(refused) ? refusals[refused](name) : undefined;
  };

  return {
    page: (interaction, query) => Promise.resolve(page(interaction, asked(interaction, 'login_hint'), refusedElsewhere(query))),
    async submit(interaction, form, sender) {
      if (form.get('answer') === 'cancel') return denied;
      const login = (form.get('login') ?? '').trim();
      const password = form.get('password') ?? '';
      const isPossible = [login, password].every((text) => text.length <= fieldCharactersMax && !text.includes('\0'));
      const user = await userByLogin(db, isPossible ? login : '');
      const claimant = claimantOf(sender, user?.id ?? login);
      await countPassword(db, claimant);
      const isRight = await isPassword(password, user?.password_hash ?? null, claimant.knownBrowser ?? claimant.address);
      if (!user || !isRight || user.deactivated) return { refused: page(interaction, login, refusal) };
      await forgetPasswords(db, claimant);
      const result = await loginAs(provider, interaction, user.id, ['pwd']);
      return user.mfa_enabled ? { result } : { result, signedIn: user.id };
    },
  };
}

const isRefusal = (text: string): text is keyof typeof refusals => Object.hasOwn(refusals, text);

function passcodeStep({ db, secrets }: Platform, provider: Provider): Step {
  const refusal = 'This passcode is wrong or was already used. Each passcode works once; wait for the next one.';
  const personOf = async ({ session }: Interaction) => {
    const user = await activeUser(db, session?.accountId ?? '');
    if (!user) throw new errors.SessionNotFound('the person is gone');
    return user;
  };

  return {
    async page(interaction) {
      const { mfa_enabled } = await personOf(interaction);
      return mfa_enabled ? passcodePage() : noSecondFactorPage(clientOf(interaction));
    },
    async submit(interaction, form, sender) {
      if (form.get('answer') === 'switch') return switchAccount(provider, interaction);
      const user = await personOf(interaction);
      if (form.get('answer') !== 'sign-in' || !user.mfa_enabled) return user.mfa_enabled ? denied : unmet;
      const claimant = claimantOf(sender, user.id);
      const typed = (form.get('passcode') ?? '').slice(0, fieldCharactersMax);
      const isGuessable = isPasscode(typed);
      if (isGuessable) await countPasscode(db, claimant);
      if (!(await useSecondFactor(db, secrets, user.id, typed))) {
        if (!isGuessable) await countPasscode(db, claimant);
        return { refused: passcodePage(refusal) };
      }
      await forgetPasscodes(db, claimant);
      const session = await provider.Session.findByUid(interaction.session?.uid ?? '');
      const login = { accountId: user.id, amr: [...(session?.amr ?? []), 'mfa'], ...(session?.loginTs && { ts: session.loginTs }) };
      return { result: { login }, signedIn: user.id };
    },
  };
}

const claimantOf = ({ address, browser }: Sender, account: string): Claimant => ({
  account,
  address,
  knownBrowser: browser?.userId === account ? browser.id : undefined,
});

function consentStep({ db }: Platform, provider: Provider): Step {
  return {
    async page(interaction) {
      const user = await activeUser(db, interaction.session?.accountId ?? '');
      if (!user) throw new errors.SessionNotFound('the person is gone');
      return consentPage({ client: clientOf(interaction), person: displayName(user), email: user.email });
    },
    async submit(interaction, form) {
      switch (form.get('answer')) {
        case 'allow':
          return { result: { consent: { grantId: await grantAll(provider, interaction) } } };
        case 'switch':
          return switchAccount(provider, interaction);
        case null:
        default:
          return denied;
      }
    },
  };
}

const denied: Outcome = { result: { error: 'access_denied', error_description: 'You did not allow this.' } };

/** The client asked for a second factor of somebody who has none. */
const unmet: Outcome = {
  result: {
    error: 'unmet_authentication_requirements',
    error_description: 'Enable two-factor authentication first, then sign in again.',
  },
};

async function switchAccount(provider: Provider, interaction: Interaction): Promise<Outcome> {
  await leaveSession(provider, interaction);
  return { restart: true };
}

const clientOf = (interaction: Interaction) => clientName(asked(interaction, 'client_id')) ?? 'A program';

/** Grants all that the client asked for: the API, and perhaps to stay signed in. */
function grantAll(provider: Provider, interaction: Interaction): Promise<string> {
  const { session, prompt } = interaction;
  const grant = new provider.Grant({ accountId: session?.accountId, clientId: asked(interaction, 'client_id') });
  const { missingOIDCScope, missingResourceScopes } = prompt.details as {
    missingOIDCScope?: string[];
    missingResourceScopes?: Record<string, string[]>;
  };
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '));
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) grant.addResourceScope(resource, scopes.join(' '));
  return grant.save();
}

const queryOf = (interaction: Interaction) =>
  new URLSearchParams(
    Object.keys(interaction.params)
      .map((name): [string, string] => [name, asked(interaction, name)])
      .filter(([, value]) => value !== ''),
  );
