/**
 * The console over HTTP. Its files are named by their content and kept by browsers for ever; its page is asked for anew each time, and lets in nothing but
 * scripts, styles and requests of our own. Until it is built, which takes some seconds after the first start of a version, visitors are told so.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { nothingAt, answerError } from '../../kernel/errors.ts';
import { html } from '../../kernel/html.ts';
import type { Platform } from '../../platform.ts';
import { layout, pageHeaders } from '../sign-in/public.ts';
import { readAssets, type Assets, type Encoding } from './assets.ts';
import { builtConsole } from './built-console.ts';
import { consolePath } from './sources.ts';

const yearSeconds = 365 * 24 * 60 * 60;
const lookAgainSeconds = 2;

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function serveConsole(http: FastifyInstance, { config, log }: Platform) {
  let assets: Assets | undefined;
  let failed = false;
  const open = async () => {
    try {
      assets = readAssets(await builtConsole(), config.url);
    } catch (error) {
      failed = true;
      log.error({ err: error }, 'the console cannot be served');
    }
  };
  // Nobody waits for it: by now the API answers.
  http.server.once('listening', () => void open());

  http.get('/', (request, reply) => (wantsPage(request) ? reply.redirect(consolePath) : answerError(nothingAt(request), request, reply)));

  http.get<{ Params: { name: string } }>(`${consolePath}/assets/:name`, (request, reply) => {
    const asset = assets?.files.get(request.params.name);
    if (!asset) return answerError(nothingAt(request), request, reply);
    const encoding = encodingFor(request);
    return reply
      .headers({ 'content-type': asset.type, 'cache-control': `public, max-age=${yearSeconds}, immutable`, vary: 'accept-encoding' })
      .headers(encoding === 'identity' ? {} : { 'content-encoding': encoding })
      .send(asset.bytes[encoding]);
  });

  const sendPage = (_request: FastifyRequest, reply: FastifyReply) => {
    if (assets) return reply.headers(headersOfPage).send(assets.page);
    return failed ? notBuilt(reply) : notYetBuilt(reply);
  };
  http.get(consolePath, sendPage);
  http.get(`${consolePath}/*`, sendPage);
}

const headersOfPage = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': pagePolicy,
  'cache-control': 'no-cache',
  'referrer-policy': 'same-origin',
};

/** Browsers ask for HTML by name; programs that take anything get what the API says. */
const wantsPage = ({ headers: { accept = '' } }: FastifyRequest) => accept.includes('text/html');

function encodingFor({ headers: { 'accept-encoding': accepted = '' } }: FastifyRequest): Encoding {
  const wanted = accepted.split(',').filter((each) => !/;\s*q=0(\.0*)?\s*$/.test(each));
  const known = new Set(wanted.map((each) => each.split(';', 1)[0]?.trim()));
  return known.has('br') ? 'br' : known.has('gzip') ? 'gzip' : 'identity';
}

const notYetBuilt = (reply: FastifyReply) =>
  reply
    .code(503)
    .headers({ ...pageHeaders(), refresh: String(lookAgainSeconds), 'retry-after': String(lookAgainSeconds) })
    .send(
      layout(
        'The console is being built',
        html`<h1>The console is being built</h1>
          <p>This happens once for each version, and takes a few seconds. The page looks again by itself.</p>`,
      ).html,
    );

const notBuilt = (reply: FastifyReply) =>
  reply
    .code(503)
    .headers(pageHeaders())
    .send(
      layout(
        'The console could not be built',
        html`<h1>The console could not be built</h1>
          <p>The log of the platform says why. The API works all the same.</p>`,
      ).html,
    );
