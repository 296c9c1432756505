/** What an invited person sees. */
import { passwordCharactersMax, passwordCharactersMin } from '../../setting-values.ts';
import { html, type Html } from '../../kernel/html.ts';
import { alert, layout } from '../sign-in/public.ts';

export interface Shown {
  /** Who invites (`from`), to what (`to`), and whom (`email`). */
  from: string;
  to: string;
  email: string;
  error?: string | undefined;
}

const invited = ({ from, to, email, error }: Shown) =>
  html`<h1>${from} invites you</h1>
    <p>You are invited to <strong>${to}</strong>, as <strong>${email}</strong>.</p>
    ${error !== undefined && alert(error)}`;

export const acceptPage = (shown: Shown): Html =>
  layout(
    'Accept the invitation',
    html`${invited(shown)}
      <form method="post"><button name="answer" value="accept">Accept</button></form>`,
  );

export const signInFirstPage = (shown: Shown, signedInAs: string | undefined): Html =>
  layout(
    'Accept the invitation',
    html`${invited(shown)}
      <p>
        ${signedInAs !== undefined && html`You are signed in as <strong>${signedInAs}</strong>.`} Sign in as
        <strong>${shown.email}</strong> to accept.
      </p>
      <form method="post"><button name="answer" value="sign-in">Sign in</button></form>`,
  );

export interface NewAccount {
  first_name: string;
  last_name: string;
  username: string;
}

export const newAccountPage = (shown: Shown, { first_name, last_name, username }: NewAccount): Html => {
  const described = shown.error === undefined ? '' : 'error';
  const name = (id: string, label: string, value: string, autocomplete: string) =>
    html`<label for="${id}">${label}</label>
      <input id="${id}" name="${id}" value="${value}" autocomplete="${autocomplete}" maxlength="100" />`;
  return layout(
    'Accept the invitation',
    html`${invited(shown)}
      <p>Create your account to accept.</p>
      <form method="post">
        ${name('first_name', 'First name', first_name, 'given-name')} ${name('last_name', 'Last name', last_name, 'family-name')}
        <label for="username">Username</label>
        <input
          id="username"
          name="username"
          value="${username}"
          autocomplete="username"
          autocapitalize="none"
          spellcheck="false"
          maxlength="63"
          required
          aria-describedby="${described}"
        />
        <label for="password">Password</label>
        <input
          id="password"
          name="password"
          type="password"
          autocomplete="new-password"
          minlength="${passwordCharactersMin}"
          maxlength="${passwordCharactersMax}"
          required
          aria-describedby="password-rule ${described}"
        />
        <p id="password-rule">At least ${passwordCharactersMin} characters.</p>
        <button name="answer" value="accept">Create the account and accept</button>
      </form>`,
  );
};

export const acceptedPage = ({ to, email }: Shown): Html =>
  layout(
    'Welcome',
    html`<h1>Welcome</h1>
      <p>You now belong to <strong>${to}</strong>.</p>
      <p>
        Sign in as <strong>${email}</strong> with your command-line client, or with a program of your own: the
        <a href="/docs">reference</a> says how.
      </p>`,
  );

export const goneInvitationPage = (sentence: string): Html =>
  layout(
    'This invitation does not work',
    html`<h1>This invitation does not work</h1>
      ${alert(sentence)}
      <p>Ask whoever invited you for a new one.</p>`,
  );
