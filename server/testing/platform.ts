/** A whole platform for a test file: a database of its own, every room, and people who can call it. */
import type { FastifyInstance, InjectOptions } from 'fastify';
import { importJWK, SignJWT } from 'jose';
import { sql } from 'kysely';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, inject } from 'vitest';
import type { User } from '../identity.ts';
import { readConfig } from '../config.ts';
import { blobsFolder, openBlobs } from '../drivers/blobs/open-blobs.ts';
import { openGit } from '../drivers/git/open-git.ts';
import { openMailFolder, type Message } from '../drivers/mail/mail.ts';
import { openDuckdbMetrics } from '../drivers/metrics/duckdb/open-duckdb-metrics.ts';
import type { Lookup } from '../drivers/outbound/look-up-host.ts';
import { openOutbound } from '../drivers/outbound/outbound.ts';
import { openPhoneFolder } from '../drivers/phone/phone.ts';
import { serveApi } from '../kernel/http.ts';
import { openLog } from '../kernel/log.ts';
import { openNotices } from '../kernel/notices.ts';
import { deliveryKindsOf, type Rooms } from '../kernel/room.ts';
import { Problem } from '../kernel/problem.ts';
import { fingerprint, openSecrets } from '../kernel/secrets.ts';
import { openDatabase, openPool } from '../kernel/sql.ts';
import { openPlatform } from '../open-platform.ts';
import type { Platform } from '../platform.ts';
import { rooms as allRooms } from '../rooms.ts';
import { deliverDue } from '../rooms/deliveries/work.ts';
import { createKeys } from '../rooms/sign-in/public.ts';
import { createApiToken, insertUser } from '../rooms/users/public.ts';

export interface Reply {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
  json: any;
}

export interface Person {
  user: User;
  apiToken: string;
  accessToken: string;
  /** The platform that the person is on, for samples that need somebody else or a row that no operation makes yet. */
  home: TestPlatform;
  send(method: string, path: string, body?: unknown): Promise<Reply>;
}

export interface TestPlatform {
  platform: Platform;
  /** What owners of domains put up: TXT records by name, and pages by address. */
  domainRecords: { texts: Map<string, string>; pages: Map<string, string> };
  /** For other processes that share the work of this platform. */
  databaseUrl: string;
  http: FastifyInstance;
  logLines: string[];
  /** The mail sent so far, with what waits to be sent, oldest first; that to one address only, if one is named. */
  mail(to?: string): Promise<Message[]>;
  /** The messages sent to phones so far, oldest first. */
  phoneMessages(): Promise<string[]>;
  /** Sends a request as nobody. */
  send(options: InjectOptions): Promise<Reply>;
  /** Somebody new; `strong` if they signed in, in a browser, with a second factor. */
  person(
    fields?: Partial<Pick<User, 'email' | 'username' | 'is_operator' | 'first_name' | 'last_name' | 'password_hash'>> & {
      strong?: boolean;
    },
  ): Promise<Person>;
}

let peopleSoFar = 0;

/** Most tests run no environments; an attempt to do so is refused with this sentence. */
const noMachine = () => Promise.reject(new Problem('unavailable', 'This test has no machine to run environments on.'));

/** A reply that goes on until its reader leaves; of such a one the beginning is a reply, too. */
const isEndless = ({ method = 'GET', url }: InjectOptions) => method === 'GET' && typeof url === 'string' && /^\/events(\?|$)/.test(url);

async function begun(http: FastifyInstance, options: InjectOptions) {
  const { statusCode, headers, stream } = await http.inject({ ...options, payloadAsStream: true });
  let payload = '';
  for await (const part of stream()) {
    payload += String(part);
    if (statusCode === 200) break;
  }
  return { statusCode, headers, payload };
}

/** Services outside are none of a test's business, whether they are reached or not: names lead to this machine or nowhere. */
const onThisMachine: Lookup = async (host) => (/(^|\.)localhost$/.test(host) ? [{ address: '127.0.0.1' }] : []);

export async function openTestPlatform(
  rooms: Rooms = allRooms,
  machine: Platform['machine'] = noMachine,
  settings: Record<string, string> = {},
): Promise<TestPlatform> {
  const database = await cloneDatabase();
  const pool = openPool(database.url);
  const db = openDatabase(pool);
  const secrets = openSecrets([randomBytes(32)]);
  await db.transaction().execute((tx) => createKeys(tx, secrets));
  const logLines: string[] = [];
  const log = openLog('debug', { write: (line) => void logLines.push(line) });
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-test-'));
  // Most tests hand requests to it without a wire, so there is nothing that TLS could be on.
  const config = readConfig({ OFFSHOOT_DATA: folder, OFFSHOOT_IMAGES_AHEAD: 'none', OFFSHOOT_TLS: 'off', ...settings });
  const mail = openMailFolder(join(folder, 'mail'), config.mail.from, log);
  const phone = openPhoneFolder(join(folder, 'phone'), log);
  const notices = await openNotices(database.url, log);
  const git = await openGit(join(folder, 'repositories'), config);
  const blobs = openBlobs({ folder: blobsFolder(folder), places: config.backups, secrets });
  const metrics = openDuckdbMetrics({ folder: join(folder, 'metrics'), say: (line) => log.warn(line) });
  const domainRecords = { texts: new Map<string, string>(), pages: new Map<string, string>() };
  const domainProofs = {
    hasText: async (name: string, value: string) => domainRecords.texts.get(name) === value,
    whereTo: async () => undefined,
    hasPage: async (host: string, path: string, text: string) => domainRecords.pages.get(`${host}${path}`) === text,
  };
  const outbound = openOutbound({ ...config, look: onThisMachine });
  const platform = await openPlatform({
    config,
    db,
    log,
    secrets,
    mail,
    phone,
    notices,
    git,
    blobs,
    metrics,
    machine,
    domainProofs,
    outbound,
  });
  const http = await serveApi(rooms, platform);
  afterAll(async () => {
    await http.close();
    platform.logs.close();
    platform.changes.close();
    await metrics.close();
    await git.close();
    await notices.close();
    await db.destroy();
    await database.drop();
    await rm(folder, { recursive: true, maxRetries: 5 });
  });

  const send = async (options: InjectOptions): Promise<Reply> => {
    const { statusCode, headers, payload } = await (isEndless(options) ? begun(http, options) : http.inject(options));
    const isJson = /[/+]json/.test(String(headers['content-type'])) && payload !== '' && headers['content-encoding'] === undefined;
    return { status: statusCode, headers, text: payload, json: isJson ? JSON.parse(payload) : undefined };
  };

  const exchanged = async (apiToken: string): Promise<string> => {
    const { json } = await send({
      method: 'POST',
      url: '/oauth2/token',
      headers: { authorization: `Basic ${btoa('platform-api-user:')}` },
      payload: { grant_type: 'api_token', api_token: apiToken },
    });
    return json.access_token;
  };

  const person: TestPlatform['person'] = async ({ strong = false, ...fields } = {}) => {
    peopleSoFar += 1;
    const username = `person-${peopleSoFar}`;
    const user = await insertUser(db, { username, email: `${username}@example.org`, ...fields });
    const { token: apiToken = '' } = await createApiToken(db, user, { name: 'test' });
    const accessToken = strong ? await signedInWithPasscode(platform, user) : await exchanged(apiToken);
    return {
      user,
      apiToken,
      accessToken,
      home,
      send: (method, path, body) =>
        send({
          method: method,
          url: path,
          ...payloadOf(body, { authorization: `Bearer ${accessToken}` }),
        }),
    };
  };

  const home: TestPlatform = {
    platform,
    domainRecords,
    databaseUrl: database.url,
    http,
    logLines,
    mail: async (to) => {
      await deliverDue(deliveryKindsOf(rooms), platform);
      return (await readMail(join(folder, 'mail'))).filter((message) => to === undefined || message.to === to);
    },
    phoneMessages: async () => (await readFolder(join(folder, 'phone'))).map(String),
    send,
    person,
  };
  return home;
}

/** The access token of a browser sign-in, without the browser. It counts as strong once its owner has a second factor. */
async function signedInWithPasscode({ db, keys, config }: Platform, user: User): Promise<string> {
  const via = fingerprint(randomBytes(16).toString('hex'));
  const expires_at = sql<string>`now() + interval '4 hours'`;
  await db.insertInto('oauth_records').values({ model: 'Grant', id_hash: via, sealed: '', user_id: user.id, expires_at }).execute();
  const [key] = keys.accessTokens;
  if (!key) throw new Error('The installation has no key for access tokens');
  return new SignJWT({ via, generation: user.token_generation, client_id: 'platform-cli', amr: ['pwd', 'mfa'] })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.kid ?? '' })
    .setSubject(user.id)
    .setIssuer(config.url)
    .setAudience(config.url)
    .setExpirationTime('4 hours')
    .sign(await importJWK(key));
}

/** A body of JSON; or a form, where a field is a file. */
function payloadOf(body: unknown, headers: Record<string, string>): Pick<InjectOptions, 'headers' | 'payload'> {
  if (body === undefined) return { headers };
  const file = typeof body === 'object' && body !== null ? Object.entries(body).find(([, value]) => Buffer.isBuffer(value)) : undefined;
  return file
    ? fileForm(file[0], file[1] as Buffer, headers)
    : { headers: { ...headers, 'content-type': 'application/json' }, payload: JSON.stringify(body) };
}

export function fileForm(
  field: string,
  content: Buffer,
  headers: Record<string, string>,
  filename = 'file',
): Required<Pick<InjectOptions, 'headers' | 'payload'>> {
  const boundary = 'sample-boundary';
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="${field}"; filename="${filename}"\r\ncontent-type: application/octet-stream\r\n\r\n`;
  return {
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
    payload: Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  };
}

async function readMail(folder: string): Promise<Message[]> {
  const messages = await Promise.all((await readFolder(folder)).map((content) => PostalMime.parse(content)));
  return messages.map(({ to, subject = '', text = '' }) => ({ to: to?.[0]?.address ?? '', subject, text }));
}

async function readFolder(folder: string): Promise<Buffer[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => !name.endsWith('.new')).sort();
  return Promise.all(names.map((name) => readFile(join(folder, name))));
}

/** A new database, as the migrations leave it. */
export async function cloneDatabase() {
  const templateUrl = new URL(inject('templateUrl'));
  const template = templateUrl.pathname.slice(1);
  const name = `test_${randomBytes(8).toString('hex')}`;
  const at = (database: string) => {
    const url = new URL(templateUrl);
    url.pathname = `/${database}`;
    return url.href;
  };
  const server = openPool(at('postgres'));
  await server.query(`create database ${name} template ${template}`);
  return {
    url: at(name),
    drop: async () => {
      await server.query(`drop database ${name} with (force)`);
      await server.end();
    },
  };
}
