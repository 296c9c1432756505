/** The pages that mailed links lead to, and the one for a forgotten password. Showing a page changes nothing; sending its form does. */
import { passwordCharactersMax, passwordCharactersMin } from '../../setting-values.ts';
import { html, type Html } from '../../kernel/html.ts';
import { alert, fieldCharactersMax, layout } from '../sign-in/public.ts';

export const changeEmailPage = ({
  username,
  present,
  email,
  token,
}: {
  username: string;
  present: string;
  email: string;
  token: string;
}): Html =>
  layout(
    'Confirm your e-mail address',
    html`<h1>Confirm your e-mail address</h1>
      <p>
        The account <strong>${username}</strong>, now at ${present}, will use <strong>${email}</strong>. Confirm only if the account is
        yours.
      </p>
      <form method="post">
        <input type="hidden" name="token" value="${token}" />
        <button>Confirm</button>
      </form>`,
  );

export const emailChangedPage = (email: string): Html =>
  layout(
    'E-mail address changed',
    html`<h1>E-mail address changed</h1>
      <p>Your account now uses <strong>${email}</strong>.</p>`,
  );

export const forgotPasswordPage = (): Html =>
  layout(
    'Forgot your password?',
    html`<h1>Forgot your password?</h1>
      <p>We will mail you a link to set a new one.</p>
      <form method="post">
        <label for="email">E-mail address</label>
        <input id="email" name="email" type="email" autocomplete="email" maxlength="${fieldCharactersMax}" required autofocus />
        <button>Send the link</button>
      </form>`,
  );

export const linkSentPage = (): Html =>
  layout(
    'Check your mail',
    html`<h1>Check your mail</h1>
      <p>If an account has that e-mail address, a link to set a new password is on its way to it.</p>`,
  );

export const resetPasswordPage = ({ email, token, error }: { email: string; token: string; error?: string }): Html =>
  layout(
    'Set a new password',
    html`<h1>Set a new password</h1>
      <p>For <strong>${email}</strong>. You will be signed out everywhere.</p>
      ${error !== undefined && alert(error)}
      <form method="post">
        <input type="hidden" name="token" value="${token}" />
        <input type="text" name="username" value="${email}" autocomplete="username" hidden />
        <label for="password">New password</label>
        <input
          id="password"
          name="password"
          type="password"
          autocomplete="new-password"
          minlength="${passwordCharactersMin}"
          maxlength="${passwordCharactersMax}"
          required
          aria-describedby="${error === undefined ? '' : 'error'}"
          autofocus
        />
        <button>Set the password</button>
      </form>`,
  );

export const passwordResetPage = (): Html =>
  layout(
    'Password changed',
    html`<h1>Password changed</h1>
      <p>Go back to the program you were using, and sign in with the new password.</p>`,
  );

export const deadLinkPage = (again?: Html): Html =>
  layout(
    'This link does not work',
    html`<h1>This link does not work</h1>
      <p>It was used already, has expired, or was replaced by a newer one.</p>
      ${again}`,
  );

export const askAgain = html`<p><a href="/forgot-password">Ask for a new link</a></p>`;
