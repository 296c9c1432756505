/**
 * What every page for people is made of. Whole without JavaScript, one small style sheet inside, light or dark as the reader prefers.
 * The policy of each page lets in that style sheet and nothing else, and lets its form lead only to us and to where the sign-in returns.
 */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errors } from 'oidc-provider';
import { html, type Html } from '../../kernel/html.ts';
import { Problem } from '../../kernel/problem.ts';
import { art, mark } from './art.ts';

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
          <p class="brand">${mark}Offshoot</p>
          <div class="step">${content}</div>
        </main>
        ${art}
      </body>
    </html>`;

export const alert = (sentence: string) => html`<p id="error" class="error" role="alert">${sentence}</p>`;

const style = `
:root { color-scheme: light dark; --text: #141b17; --soft: #55615a; --page: #ffffff; --line: #84908a; --accent: #17693f; --hover: #0f5230; --on: #fff; --error: #b3261e; --error-page: #fceae8; --focus: #1657c9; --art: #0f2e1e; --stem: #4d9672; --leaf: #8ed8b0; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e5ebe7; --soft: #9aa8a0; --page: #0f1412; --line: #67756d; --accent: #63c894; --hover: #84d9ad; --on: #07160e; --error: #ff9388; --error-page: #381714; --focus: #8db8ff; --art: #0b1711; --stem: #2d6649; --leaf: #63c894; }
}
@media (prefers-contrast: more) { :root { --soft: var(--text); --line: var(--text); } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; grid-template-columns: minmax(440px, 38%) minmax(0, 1fr); background: var(--page); color: var(--text); font: 0.875rem/1.5 system-ui, sans-serif; }
main { display: flex; flex-direction: column; width: 100%; max-width: 424px; margin: 0 auto; padding: 2rem; overflow-wrap: anywhere; }
.brand { display: flex; align-items: center; gap: 0.5rem; margin: 0; font-size: 1.0625rem; font-weight: 600; color: var(--text); }
.brand svg { color: var(--accent); }
.step { margin-block: auto; padding-block: 2rem; }
h1 { margin: 0 0 0.25rem; font-size: 1.75rem; font-weight: 600; letter-spacing: -0.02em; line-height: 1.25; }
p { margin: 0 0 1rem; color: var(--soft); }
p strong { color: var(--text); }
.step > :last-child { margin-bottom: 0; }
label { display: block; margin: 1rem 0 0.3rem; font-weight: 500; }
input { width: 100%; height: 40px; padding: 0 10px; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 6px; }
button { width: 100%; height: 40px; margin-top: 1rem; font: inherit; font-weight: 500; color: var(--on); background: var(--accent); border: 1px solid var(--accent); border-radius: 6px; cursor: pointer; }
button:hover { background: var(--hover); }
button.second { color: var(--text); background: transparent; border-color: var(--line); }
a.second { display: flex; align-items: center; justify-content: center; gap: 8px; min-height: 40px; margin-top: 0.5rem; padding: 6px 10px; font-weight: 500; color: var(--text); text-decoration: none; border: 1px solid var(--line); border-radius: 6px; }
a.second:hover { border-color: var(--text); }
a.second svg { flex: none; }
.or { display: flex; align-items: center; gap: 12px; margin: 1rem 0; }
.or::before, .or::after { content: ''; flex: 1; border-top: 1px solid var(--line); opacity: 0.5; }
button.plain { height: 32px; margin-top: 0.5rem; color: var(--soft); background: transparent; border-color: transparent; }
button.plain:hover { color: var(--text); }
:is(input, button, a):focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
.aside { margin: 1rem 0 0; text-align: center; }
a { color: var(--accent); }
.error { padding: 0.6rem 0.75rem; color: var(--error); background: var(--error-page); border-radius: 6px; }
.art { background: var(--art); overflow: hidden; max-height: 100vh; position: sticky; top: 0; }
.art svg { display: block; width: 100%; height: 100%; }
.stem { stroke: var(--stem); stroke-linecap: round; }
.leaf { fill: var(--leaf); }
.folded { stroke: var(--leaf); stroke-width: 0.9; }
@media (max-width: 900px) {
  body { grid-template-columns: minmax(0, 1fr); grid-template-rows: 148px 1fr; }
  main { padding: 1.5rem 1rem; }
  .art { order: -1; position: static; }
}
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
