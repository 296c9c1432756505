/**
 * Accepting an invitation in a browser: with the account that has the invited address, or by making it. Opening the page changes nothing, for
 * mail programs open links, too; sending its form does. Holding the link proves that one reads the mail of that address.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { User } from '../../identity.ts';
import { passwordCharactersMax, passwordCharactersMin } from '../../setting-values.ts';
import type { Html } from '../../kernel/html.ts';
import { Problem } from '../../kernel/problem.ts';
import { fingerprint } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import { organizationAt } from '../organizations/public.ts';
import { projectById } from '../projects/public.ts';
import { answerPageError, countLink, formBytesMax, formOf, hashPassword, openBrowserSession, pageHeaders } from '../sign-in/public.ts';
import { insertUser, isUsername, userByEmail } from '../users/public.ts';
import { acceptInvitation, invitationGone } from './accept.ts';
import { acceptPath, oneLine } from './letter.ts';
import { acceptedPage, acceptPage, goneInvitationPage, newAccountPage, signInFirstPage, type NewAccount, type Shown } from './pages.ts';
import { openInvitation, type Invitation } from './queries.ts';

const gone = 410;

export function mountPages(http: FastifyInstance, platform: Platform) {
  const { db } = platform;
  const session = openBrowserSession(platform);
  const options = { bodyLimit: formBytesMax, errorHandler: answerPageError };
  const show = (reply: FastifyReply, page: Html, status = 200) => reply.code(status).headers(pageHeaders()).send(page.html);

  /** Everything that both the page and its form depend on; undefined when there is nothing to accept. */
  const visit = async (request: FastifyRequest, reply: FastifyReply): Promise<Visit | undefined> => {
    const token = tokenOf(request.url);
    const invitation = await openInvitation(db, fingerprint(token));
    if (!invitation) return undefined;
    const [shown, signedIn, account] = await Promise.all([
      shownOf(platform, invitation),
      session.signedInUser(request, reply),
      userByEmail(db, invitation.email),
    ]);
    return shown && { token, shown, signedIn, account, isSignedIn: account !== undefined && signedIn?.id === account.id };
  };

  http.get(acceptPath, options, async (request, reply) => {
    const found = await visit(request, reply);
    return found
      ? show(reply, pageFor(found, suggested(found.shown.email)))
      : show(reply, goneInvitationPage(invitationGone().message), gone);
  });

  http.post(acceptPath, options, async (request, reply) => {
    const form = formOf(request);
    const found = await visit(request, reply);
    await countLink(db, found?.token, request.ip);
    if (!found) return show(reply, goneInvitationPage(invitationGone().message), gone);
    if (found.account && !found.isSignedIn)
      return reply.redirect(session.signInAddress(`${acceptPath}?token=${found.token}`, found.shown.email), 303);
    const typed = typedAccount(form);
    try {
      await (found.account
        ? acceptAs(platform, found.token, found.account)
        : acceptAsNew(platform, found.token, typed, form.get('password') ?? ''));
      return show(reply, acceptedPage(found.shown));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return error.status === 404
        ? show(reply, goneInvitationPage(error.message), gone)
        : show(reply, pageFor({ ...found, shown: { ...found.shown, error: error.message } }, typed), error.status);
    }
  });
}

interface Visit {
  token: string;
  shown: Shown;
  signedIn: User | undefined;
  /** The account that has the invited address. */
  account: User | undefined;
  isSignedIn: boolean;
}

function pageFor({ shown, signedIn, account, isSignedIn }: Visit, typed: NewAccount): Html {
  if (isSignedIn) return acceptPage(shown);
  return account ? signInFirstPage(shown, signedIn?.email) : newAccountPage(shown, typed);
}

/** What the page says of the invitation; undefined when the organization or the project is gone. */
async function shownOf({ db }: Platform, { organization_id, project_id, email, owner }: Invitation): Promise<Shown | undefined> {
  const organization = await organizationAt(db, organization_id);
  const project = project_id === null ? undefined : await projectById(db, project_id);
  if (!organization || (project_id !== null && !project)) return undefined;
  const to = project ? `the project ${project.title || project.id} of ${organization.label}` : `the organization ${organization.label}`;
  return { from: oneLine(owner.display_name), to, email };
}

const acceptAs = ({ db }: Platform, token: string, { id }: User) => acceptInvitation(db, token, () => Promise.resolve(id));

/** Creates the account. Nobody can sign up without an invitation, and the invitation is used up in the same transaction. */
async function acceptAsNew({ db }: Platform, token: string, typed: NewAccount, password: string) {
  refuseBadAccount(typed, password);
  const password_hash = await hashPassword(password, token);
  return acceptInvitation(db, token, async (tx, { email }) => {
    const { id } = await insertUser(tx, { ...typed, email, email_verified: true, password_hash });
    return id;
  });
}

function refuseBadAccount({ first_name, last_name, username }: NewAccount, password: string) {
  const sentence =
    (!isUsername(username) &&
      'A username must have 1 to 63 letters, digits, dots, dashes or underscores, and begin with a letter or digit.') ||
    (![first_name, last_name].every(isName) && 'A name must have at most 100 characters, on one line.') ||
    ((password.length < passwordCharactersMin || password.length > passwordCharactersMax || password.includes('\0')) &&
      `A password must have ${passwordCharactersMin} to ${passwordCharactersMax} characters.`);
  if (sentence) throw new Problem('invalid-request', sentence);
}

const nameCharactersMax = 100;
const isName = (text: string) => text.length <= nameCharactersMax && !/\p{Cc}/u.test(text);

const typedAccount = (form: URLSearchParams): NewAccount => ({
  first_name: (form.get('first_name') ?? '').trim(),
  last_name: (form.get('last_name') ?? '').trim(),
  username: (form.get('username') ?? '').trim(),
});

const suggested = (email: string): NewAccount => {
  const local = email.split('@', 1)[0] ?? '';
  return { first_name: '', last_name: '', username: isUsername(local) ? local : '' };
};

const tokenCharactersMax = 100;
const tokenOf = (url: string) => (new URLSearchParams(url.split('?', 2)[1] ?? '').get('token') ?? '').slice(0, tokenCharactersMax);
