/**
 * Git's smart HTTP at `/git/{project}.git`. Packs are streamed in both directions; failures are told in plain text, which is what Git shows to
 * people. Whoever comes without credentials is asked for them in the way that makes Git ask in turn.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PassThrough, Transform, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Problem } from '../../kernel/problem.ts';
import { leaveBodiesUnread } from '../../kernel/upload.ts';
import type { Platform } from '../../platform.ts';
import { countToken } from '../sign-in/public.ts';
import { admit, serveGit, pushBytesMax, type GitCaller, type GitConversation } from './serve-git.ts';

type Service = 'upload-pack' | 'receive-pack';
const services: Record<string, Service> = { 'git-upload-pack': 'upload-pack', 'git-receive-pack': 'receive-pack' };

/** How large a request may be apart from a pack that it pushes, which has a limit of its own. */
const questionBytesMax = 32 * 1024 * 1024;
/** How long we wait for more of a request. A client that pushes may still be packing, so it gets more time. */
const stalledSecondsMax: Record<Service, number> = { 'upload-pack': 20, 'receive-pack': 120 };

interface Route {
  Params: { repository: string };
  Querystring: { service?: string };
}

export function mountGit(http: FastifyInstance, platform: Platform) {
  leaveBodiesUnread(http);
  http.setErrorHandler(answerInText);
  const options = { compress: false, config: { mayTakeLong: true } } as const;
  http.get<Route>('/git/:repository/info/refs', options, async (request, reply) => {
    const service = services[new URLSearchParams(request.url.split('?', 2)[1]).get('service') ?? ''];
    const { projectId, ...partner } = await signIn(request, platform);
    if (!service) throw new Problem('forbidden', 'This server supports only the smart HTTP protocol; use a newer Git.');
    const project = await admit(platform, partner.caller, projectId, service);
    const protocol = protocolOf(request);
    const conversation = await serveGit(platform, partner, project, { service, part: 'advertisement', protocol, isWaiting: false });
    conversation.stdin.end();
    return answer(reply, conversation, `application/x-git-${service}-advertisement`, announced(conversation, service));
  });
  for (const [name, service] of Object.entries(services)) {
    http.post<Route>(`/git/:repository/${name}`, options, async (request, reply) => {
      const { projectId, ...partner } = await signIn(request, platform);
      const project = await admit(platform, partner.caller, projectId, service);
      const body = bodyOf(request, questionBytesMax + (service === 'receive-pack' ? 2 * pushBytesMax(project, platform.config) : 0));
      const conversation = await serveGit(platform, partner, project, {
        service,
        part: 'request',
        protocol: protocolOf(request),
        isWaiting: true,
      });
      feed(body, conversation, request, stalledSecondsMax[service]);
      return answer(reply, conversation, `application/x-git-${service}-result`);
    });
  }
}

const protocolOf = ({ headers }: FastifyRequest) => [headers['git-protocol']].flat()[0];

const projectPattern = /^([a-z0-9]{1,64})(?:\.git)?$/;

async function signIn(request: FastifyRequest<Route>, platform: Platform): Promise<GitCaller & { projectId: string }> {
  const projectId = projectPattern.exec(request.params.repository)?.[1] ?? '';
  const token = tokenOf(request.headers.authorization);
  if (token === undefined) throw askFor('Use your API token as the password.');
  const isAccessToken = token.split('.').length === 3;
  const callerNow = () => (isAccessToken ? platform.callerOf(token, { projectId }) : platform.callerBy({ apiToken: token }, projectId));
  const caller = await callerNow();
  await countToken(platform.db, caller?.via, request.ip);
  if (caller) return { caller, callerNow, projectId };
  throw askFor('The token is wrong or has expired. Use an API token as the password; the user name does not matter.');
}

const askFor = (sentence: string) =>
  new Problem('unauthenticated', sentence, { headers: { 'www-authenticate': 'Basic realm="offshoot"' } });

/** The token may be sent as Bearer, or as Basic in place of the user name or the password, because people use either. */
function tokenOf(authorization = ''): string | undefined {
  const [scheme = '', value = ''] = authorization.split(' ', 2);
  if (scheme.toLowerCase() === 'bearer') return value || undefined;
  if (scheme.toLowerCase() !== 'basic') return undefined;
  const [user = '', ...password] = Buffer.from(value, 'base64').toString('utf8').split(':');
  const secret = password.join(':');
  return (/^(x-oauth-basic)?$/.test(secret) ? user : secret) || undefined;
}

function bodyOf({ raw, headers }: FastifyRequest<Route>, bytesMax: number): Readable {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (!/^(identity|x-gzip|gzip)$/.test(encoding)) throw new Problem('unsupported-media-type', 'Send the body as it is, or with gzip.');
  let bytes = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > bytesMax) done(new Problem('too-large', 'The request is too large; fetch or push less at a time.'));
      else done(null, chunk);
    },
  });
  if (encoding === 'identity') return raw.pipe(bounded);
  const unzipped = createGunzip();
  /** A body that cannot be unzipped ends early; Git then reports that the rest is missing. */
  unzipped.on('error', () => bounded.end());
  return raw.pipe(unzipped).pipe(bounded);
}

/** Git may stop reading before the whole body has arrived; the rest is read and dropped, so that the client gets to read the reason. */
function feed(body: Readable, conversation: GitConversation, { raw }: FastifyRequest<Route>, secondsMax: number) {
  const stalled = setTimeout(() => raw.complete || raw.destroy(), secondsMax * 1000);
  raw.on('data', () => stalled.refresh());
  for (const event of ['end', 'close']) raw.once(event, () => clearTimeout(stalled));
  void conversation.ended.finally(() => clearTimeout(stalled));
  body.on('error', () => {
    conversation.leave();
    raw.destroy();
  });
  body.pipe(conversation.stdin);
  conversation.stdin.once('close', () => {
    body.unpipe(conversation.stdin);
    body.resume();
  });
  raw.once('close', () => {
    if (!raw.complete) conversation.leave();
  });
}

/** Protocol versions before 2 begin the answer with a line that names the service. */
function announced({ stdout, protocol }: GitConversation, service: Service): Readable {
  if (protocol === 'version=2') return stdout;
  const line = `# service=git-${service}\n`;
  const whole = new PassThrough();
  whole.write(`${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`);
  return stdout.pipe(whole);
}

function answer(reply: FastifyReply, conversation: GitConversation, type: string, body: Readable = conversation.stdout) {
  conversation.stderr.resume();
  const hurry = () => conversation.hurry();
  reply.server.server.once('close-streams', hurry);
  reply.raw.once('close', () => {
    reply.server.server.off('close-streams', hurry);
    if (!reply.raw.writableFinished) conversation.leave();
  });
  return reply.header('content-type', type).header('cache-control', 'no-cache, max-age=0, must-revalidate').send(body);
}

/** Failures are answered in plain text, which Git shows to the person who runs it. */
function answerInText(error: Error, request: FastifyRequest, reply: FastifyReply) {
  const problem = error instanceof Problem ? error : undefined;
  if (!problem) request.log.error({ err: error }, 'bug');
  const sentence = problem?.message ?? `Something went wrong on our side. Quote the request id ${request.id} when you report it.`;
  return reply
    .code(problem?.status ?? 500)
    .headers(problem?.headers ?? {})
    .header('content-type', 'text/plain; charset=utf-8')
    .send(`${sentence}\n`);
}
