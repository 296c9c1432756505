/** What people see when they sign in and out. */
import { html, type Html } from '../../kernel/html.ts';
import { fieldCharactersMax } from './forms.ts';
import { alert, layout } from './layout.ts';

interface SignIn {
  client: string;
  login: string;
  error: string | undefined;
  /** Other identity providers, and where each is gone to. */
  elsewhere: readonly { name: string; href: string }[];
}

export function signInPage({ client, login, error, elsewhere }: SignIn): Html {
  const described = error === undefined ? '' : 'error';
  return layout(
    'Sign in',
    html`<h1>Sign in</h1>
      <p>${client} asks you to sign in to Offshoot.</p>
      ${error !== undefined && alert(error)}
      <form method="post">
        <label for="login">E-mail or username</label>
        <input
          id="login"
          name="login"
          value="${login}"
          autocomplete="username"
          autocapitalize="none"
          spellcheck="false"
          maxlength="${fieldCharactersMax}"
          required
          aria-describedby="${described}"
          ${login === '' && html`autofocus`}
        />
        <label for="password">Password</label>
        <input
          id="password"
          name="password"
          type="password"
          autocomplete="current-password"
          maxlength="${fieldCharactersMax}"
          required
          aria-describedby="${described}"
          ${login !== '' && html`autofocus`}
        />
        <button name="answer" value="sign-in">Sign in</button>
      </form>
      ${elsewhere.length > 0 && html`<p class="or"><span>or</span></p>`}
      ${elsewhere.map(({ name, href }) => html`<a class="second" href="${href}">${key}Continue with ${name}</a>`)}
      <form method="post"><button class="plain" name="answer" value="cancel">Cancel</button></form>
      <p class="aside"><a href="/forgot-password">Forgot your password?</a></p>`,
  );
}

const key = html`<svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4" aria-hidden="true">
  <circle cx="5" cy="11" r="2.5" />
  <path d="M6.8 9.2 13.5 2.5M11 5l2 2" />
</svg>`;

export const passcodePage = (error?: string): Html =>
  layout(
    'Passcode',
    html`<h1>Passcode</h1>
      <p>Type the six digits that your authenticator app shows, or one of your recovery codes.</p>
      ${error !== undefined && alert(error)}
      <form method="post">
        <label for="passcode">Passcode</label>
        <input
          id="passcode"
          name="passcode"
          autocomplete="one-time-code"
          autocapitalize="none"
          spellcheck="false"
          maxlength="${fieldCharactersMax}"
          required
          aria-describedby="${error === undefined ? '' : 'error'}"
          autofocus
        />
        <button name="answer" value="sign-in">Continue</button>
      </form>
      <form method="post">
        <button class="plain" name="answer" value="cancel">Cancel</button>
        <button class="plain" name="answer" value="switch">Use another account</button>
      </form>`,
  );

export const noSecondFactorPage = (client: string): Html =>
  layout(
    'Two-factor authentication needed',
    html`<h1>Two-factor authentication needed</h1>
      <p>${client} asks you to sign in with a passcode, and you have no device for passcodes yet.</p>
      <p>Sign in without it, enable two-factor authentication, then try again.</p>
      <form method="post">
        <button name="answer" value="cancel">Go back</button>
        <button class="plain" name="answer" value="switch">Use another account</button>
      </form>`,
  );

export function consentPage({ client, person, email }: { client: string; person: string; email: string }): Html {
  return layout(
    'Allow access',
    html`<h1>${client} wants to act for you</h1>
      <p>It can do everything you can do in Offshoot, until you sign out of it.</p>
      <p>You are signed in as <strong>${person}</strong> (${email}).</p>
      <form method="post">
        <button name="answer" value="allow">Allow</button>
        <button class="second" name="answer" value="deny">Deny</button>
        <button class="plain" name="answer" value="switch">Use another account</button>
      </form>`,
  );
}

export const signOutPage = () =>
  layout(
    'Sign out',
    html`<h1>Sign out</h1>
      <p>This ends the sign-in of this browser. Programs that you allowed to act for you stay signed in.</p>
      <form method="post"><button>Sign out</button></form>`,
  );

export const signedOutPage = () =>
  layout(
    'Signed out',
    html`<h1>Signed out</h1>
      <p>This browser is no longer signed in.</p>`,
  );
