/**
 * What the edge says in its own name: each page is one sentence about what is the case and one about what to do. No script, nothing from elsewhere, light
 * or dark as the reader has it. Programs that ask for JSON get that, and those that ask for anything at all (curl) get plain text.
 */
import type { Exchange, Reply } from './exchange.ts';

export type PageKind = keyof typeof pages;

interface Page {
  status: number;
  title: string;
  what: string;
  toDo: string;
  retryAfterSeconds?: number;
}

const pages = {
  'bad-request': {
    status: 400,
    title: 'This request cannot be read',
    what: 'What arrived here is not a request that can be understood.',
    toDo: 'Check the address; if a program sent it, check how it writes its requests.',
  },
  unauthorized: {
    status: 401,
    title: 'Please sign in',
    what: 'This site is protected by a user name and a password.',
    toDo: 'Reload the page and enter them; if you have none, ask whoever runs this site.',
  },
  forbidden: {
    status: 403,
    title: 'You may not see this',
    what: 'This site does not show this page to you, or to the network you come from.',
    toDo: 'If you think that it should, ask whoever runs this site.',
  },
  'not-found': {
    status: 404,
    title: 'There is no such page',
    what: 'The site works, but there is nothing at this address.',
    toDo: 'Check the address, or start from the front page of the site.',
  },
  missing: {
    status: 404,
    title: 'There is no site here',
    what: 'This address leads to a server that knows no site of this name.',
    toDo: 'Check the address. If the site is yours, check that its environment is active and that the domain is among its routes.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'This cannot be done here',
    what: 'There is a file at this address: it can be read, but nothing can be sent to it.',
    toDo: 'Check the address that the form or the program sends to.',
  },
  'too-large': {
    status: 413,
    title: 'This is too large',
    what: 'What you sent is larger than this site accepts.',
    toDo: 'Send something smaller. If the site is yours, see max_request_size in its configuration.',
  },
  misdirected: {
    status: 421,
    title: 'This connection is for another site',
    what: 'It was opened for one site, and this request asks for another.',
    toDo: 'Load the page again. If a program sent it, let it open a connection for each host.',
  },
  loop: {
    status: 508,
    title: 'This address leads in a circle',
    what: 'The site passes requests on to a place that passes them back.',
    toDo: 'If the site is yours, check where its routes of type proxy lead.',
  },
  unavailable: {
    status: 502,
    title: 'The application does not answer',
    what: 'The site is there, but its application could not be reached or gave no proper answer.',
    toDo: 'Try again in a moment. If the site is yours, look at its logs.',
  },
  paused: {
    status: 503,
    title: 'This site is paused',
    what: 'Whoever runs it has stopped it for now; nothing of it is lost.',
    toDo: 'Come back later. If the site is yours, resume its environment.',
    retryAfterSeconds: 3600,
  },
  broken: {
    status: 503,
    title: 'This site is not running yet',
    what: 'It was never deployed, or the last deployment failed.',
    toDo: 'Come back later. If the site is yours, look at the log of the last deployment and push again.',
    retryAfterSeconds: 300,
  },
  full: {
    status: 503,
    title: 'There is no room for this site right now',
    what: 'It sleeps while nobody visits it, and could not be woken: others are using the resources that it needs.',
    toDo: 'Try again in a minute. If the site is yours, look at its environment, and pause or delete others that nobody needs.',
    retryAfterSeconds: 60,
  },
  'too-busy': {
    status: 503,
    title: 'Too busy right now',
    what: 'More requests arrived than can be served at once.',
    toDo: 'Try again in a few seconds.',
    retryAfterSeconds: 5,
  },
  'holding-too-long': {
    status: 503,
    title: 'Still getting ready',
    what: 'The site is being changed, and that takes longer than a request can wait.',
    toDo: 'Try again in a minute.',
    retryAfterSeconds: 60,
  },
  timeout: {
    status: 504,
    title: 'The application takes too long',
    what: 'The site is there, but its application did not answer in time.',
    toDo: 'Try again in a moment. If the site is yours, look at its logs.',
  },
} as const satisfies Record<string, Page>;

/** The sender adds Content-Length, and leaves the body out where the request was HEAD. */
export function page(kind: PageKind, { headers }: Pick<Exchange, 'headers'>): Reply {
  const { body, type } = rendered(kind, wanted(headers.accept));
  const { status, retryAfterSeconds }: Page = pages[kind];
  return {
    status,
    headers: [
      ['Content-Type', `${type}; charset=utf-8`],
      ['Cache-Control', 'no-store'],
      ['Vary', 'Accept'],
      ...(retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)] satisfies [string, string]]),
      ...(type === 'text/html'
        ? [['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'"] satisfies [string, string]]
        : []),
    ],
    body,
  };
}

type MediaType = 'text/html' | 'application/json' | 'text/plain';

/** Browsers name HTML; programs name JSON, or take anything. */
function wanted(accept = ''): MediaType {
  if (/\btext\/html\b/i.test(accept)) return 'text/html';
  if (/\b(?:application\/(?:[\w.]+\+)?json|\+json)\b/i.test(accept)) return 'application/json';
  return 'text/plain';
}

const bodies = new Map<string, Buffer>();

function rendered(kind: PageKind, type: MediaType): { body: Buffer; type: MediaType } {
  const key = `${kind} ${type}`;
  const known = bodies.get(key);
  if (known) return { body: known, type };
  const body = Buffer.from(render(kind, pages[kind], type));
  bodies.set(key, body);
  return { body, type };
}

function render(kind: PageKind, { status, title, what, toDo }: Page, type: MediaType): string {
  if (type === 'application/json') return JSON.stringify({ status, code: kind, title, detail: `${what} ${toDo}` });
  if (type === 'text/plain') return `${status} ${title}\n\n${what}\n${toDo}\n`;
  return html(status, title, what, toDo);
}

const html = (status: number, title: string, what: string, toDo: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(title)}</title>
<style>
:root { color-scheme: light dark; --paper: #f6f7f5; --ink: #1c211d; --soft: #59625b; --line: #2f7d4f; }
@media (prefers-color-scheme: dark) { :root { --paper: #141815; --ink: #e8ece8; --soft: #a3ada5; --line: #6fcf97; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 2rem; background: var(--paper); color: var(--ink); font: 1.125rem/1.6 system-ui, sans-serif; }
main { max-width: 34rem; width: 100%; border-left: 4px solid var(--line); padding: 0.25rem 0 0.25rem 1.75rem; }
h1 { margin: 0 0 1rem; font-size: clamp(1.6rem, 5vw, 2.2rem); line-height: 1.2; text-wrap: balance; }
p { margin: 0 0 0.75rem; }
small { color: var(--soft); font-size: 0.875rem; }
</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
<p>${escaped(what)}</p>
<p>${escaped(toDo)}</p>
<small>Status ${status}</small>
</main>
</body>
</html>
`;

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
