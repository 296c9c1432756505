/**
 * What every page for people is made of. Whole without JavaScript, one small style sheet inside, light or dark as the reader prefers.
 * The policy of each page lets in that style sheet and nothing else, and lets its form lead only to us and to where the sign-in returns.
 */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errors } from 'oidc-provider';
import { html, type Html } from '../../kernel/html.ts';
import { Problem } from '../../kernel/problem.ts';

export const layout = (title: string, content: Html) =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Offshoot</title>
        ${styleSheet}
      </head>
      <body>
        <main>
          <p class="brand">Offshoot</p>
          ${content}
        </main>
      </body>
    </html>`;

export const alert = (sentence: string) => html`<p id="error" class="error" role="alert">${sentence}</p>`;

const style = `
:root { color-scheme: light dark; --text: #1c2430; --soft: #55606e; --page: #f3f5f7; --card: #fff; --line: #8a94a0; --accent: #0b6b4f; --on: #fff; --error: #a3211b; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6eaef; --soft: #a9b3be; --page: #12161b; --card: #1b2129; --line: #6c7886; --accent: #5ccba5; --on: #06251b; --error: #ff9c94; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 26rem; padding: 2rem; background: var(--card); border-radius: 12px; box-shadow: 0 1px 3px #0003; overflow-wrap: anywhere; }
.brand { margin: 0 0 1.5rem; font-weight: 700; color: var(--accent); }
h1 { margin: 0 0 0.5rem; font-size: 1.4rem; line-height: 1.3; }
p { margin: 0 0 1rem; color: var(--soft); }
p strong { color: var(--text); }
main > :last-child { margin-bottom: 0; }
label { display: block; margin: 1rem 0 0.25rem; font-weight: 600; }
input { width: 100%; padding: 0.6rem 0.75rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 8px; }
button { width: 100%; margin-top: 1rem; padding: 0.7rem; font: inherit; font-weight: 600; color: var(--on); background: var(--accent); border: 1px solid var(--accent); border-radius: 8px; cursor: pointer; }
button.second { color: var(--text); background: transparent; border-color: var(--line); }
button.plain { padding: 0.4rem; color: var(--soft); background: transparent; border-color: transparent; text-decoration: underline; }
:is(input, button, a):focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.aside { margin: 1rem 0 0; text-align: center; }
a { color: inherit; }
.error { padding: 0.6rem 0.75rem; color: var(--error); border: 1px solid; border-radius: 8px; font-weight: 600; }
`;

/** The browser hashes exactly the text between the tags, so the sheet must be inserted unchanged. */
const styleSheet: Html = { html: `<style>${style}</style>` };
const styleHash = createHash('sha256').update(style).digest('base64');

/** Browsers apply the policy to the redirects after a form, too, so the policy names where the sign-in will return. */
export const pageHeaders = (returnTo?: string) => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    `form-action 'self'${returnTo === undefined ? '' : ` ${new URL(returnTo).origin}`}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  /** With `no-referrer`, browsers also hide the Origin that we check. */
  'referrer-policy': 'same-origin',
});

export const errorPage = (sentence: string) =>
  layout(
    'This did not work',
    html`<h1>This did not work</h1>
      ${alert(sentence)}
      <p>Go back to where you came from and begin again.</p>`,
  );

export function answerPageError(error: Error, _request: FastifyRequest, reply: FastifyReply) {
  if (error instanceof Problem) return send(reply.headers(error.headers), error.status, error.message);
  if (error instanceof errors.SessionNotFound)
    return send(reply, 400, 'This sign-in has expired, or was begun in another browser; start it again.');
  throw error;
}

const send = (reply: FastifyReply, status: number, sentence: string) =>
  reply.code(status).headers(pageHeaders()).send(errorPage(sentence).html);
