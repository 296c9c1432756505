import type { FastifyInstance, FastifyReply } from 'fastify';
import { passwordCharactersMax, passwordCharactersMin } from '../../setting-values.ts';
import type { Html } from '../../kernel/html.ts';
import type { Platform } from '../../platform.ts';
import {
  answerPageError,
  countLink,
  fieldCharactersMax,
  formBytesMax,
  formOf,
  knownBrowserOf,
  networkOf,
  pageHeaders,
  rememberBrowser,
} from '../sign-in/public.ts';
import { confirmEmail } from './change-email.ts';
import { linkOf, pathOf } from './mailed-link.ts';
import {
  askAgain,
  changeEmailPage,
  deadLinkPage,
  emailChangedPage,
  forgotPasswordPage,
  linkSentPage,
  passwordResetPage,
  resetPasswordPage,
} from './pages.ts';
import { forgotPassword, resetPassword } from './reset-password.ts';

const gone = 410;

export function mountPages(http: FastifyInstance, platform: Platform) {
  const { db } = platform;
  const options = { bodyLimit: formBytesMax, errorHandler: answerPageError };
  const show = (reply: FastifyReply, page: Html, status = 200) => reply.code(status).headers(pageHeaders()).send(page.html);

  http.get(pathOf('change-email'), options, async (request, reply) => {
    const token = tokenOf(queryOf(request.url));
    const link = await linkOf(db, 'change-email', token);
    return link
      ? show(reply, changeEmailPage({ username: link.username, present: link.email, email: link.mailed_to ?? '', token }))
      : show(reply, deadLinkPage(), gone);
  });

  http.post(pathOf('change-email'), options, async (request, reply) => {
    const token = tokenOf(formOf(request));
    await countLink(db, (await linkOf(db, 'change-email', token))?.token_fingerprint, request.ip);
    const email = await confirmEmail(platform, token);
    return email === undefined ? show(reply, deadLinkPage(), gone) : show(reply, emailChangedPage(email));
  });

  http.get('/forgot-password', options, (_request, reply) => show(reply, forgotPasswordPage()));

  http.post('/forgot-password', options, async (request, reply) => {
    const visitor = knownBrowserOf(request, platform)?.userId ?? networkOf(request.ip);
    await forgotPassword(platform, field(formOf(request), 'email'), visitor);
    return show(reply, linkSentPage());
  });

  http.get(pathOf('reset-password'), options, async (request, reply) => {
    const token = tokenOf(queryOf(request.url));
    const link = await linkOf(db, 'reset-password', token);
    return link ? show(reply, resetPasswordPage({ email: link.email, token })) : show(reply, deadLinkPage(askAgain), gone);
  });

  http.post(pathOf('reset-password'), options, async (request, reply) => {
    const form = formOf(request);
    const token = tokenOf(form);
    const password = form.get('password') ?? '';
    const link = await linkOf(db, 'reset-password', token);
    await countLink(db, link?.token_fingerprint, request.ip);
    if (!link) return show(reply, deadLinkPage(askAgain), gone);
    if (!isPossiblePassword(password)) return show(reply, resetPasswordPage({ email: link.email, token, error: passwordRule }), 400);
    const worked = await resetPassword(platform, token, password);
    /** The link proves that its holder reads the owner's mail, so strangers' guesses do not shut this browser out; with a second factor, mail alone is not enough. */
    if (worked && !link.mfa_enabled) rememberBrowser(reply, platform, link.id);
    return worked ? show(reply, passwordResetPage()) : show(reply, deadLinkPage(askAgain), gone);
  });
}

const passwordRule = `A password must have ${passwordCharactersMin} to ${passwordCharactersMax} characters.`;

const isPossiblePassword = (password: string) =>
  password.length >= passwordCharactersMin && password.length <= passwordCharactersMax && !password.includes('\0');

const queryOf = (url: string) => new URLSearchParams(url.split('?', 2)[1] ?? '');
const field = (form: URLSearchParams, name: string) => (form.get(name) ?? '').slice(0, fieldCharactersMax).replaceAll('\0', '');
const tokenOf = (form: URLSearchParams) => field(form, 'token');
