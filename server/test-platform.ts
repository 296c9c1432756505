/** A whole platform for a test file: a database of its own, every room, and people who can call it. */
import type { FastifyInstance, InjectOptions } from 'fastify';
import { randomBytes } from 'node:crypto';
import { afterAll, inject } from 'vitest';
import { readConfig } from './config.ts';
import { serveApi } from './kernel/http.ts';
import { openLog } from './kernel/log.ts';
import type { Rooms } from './kernel/room.ts';
import { openSecrets } from './kernel/secrets.ts';
import { openDatabase, openPool } from './kernel/sql.ts';
import { openPlatform, type Platform } from './platform.ts';
import { rooms as allRooms } from './rooms.ts';
import { createKeys } from './rooms/sign-in/room.ts';
import { createApiToken, insertUser, type User } from './rooms/users/room.ts';

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
  send(method: string, path: string, body?: unknown): Promise<Reply>;
}

export interface TestPlatform {
  platform: Platform;
  http: FastifyInstance;
  logLines: string[];
  /** As nobody. */
  send(options: InjectOptions): Promise<Reply>;
  person(
    fields?: Partial<Pick<User, 'email' | 'username' | 'is_operator' | 'first_name' | 'last_name' | 'password_hash'>>,
  ): Promise<Person>;
}

let peopleSoFar = 0;

export async function openTestPlatform(rooms: Rooms = allRooms): Promise<TestPlatform> {
  const database = await cloneDatabase();
  const pool = openPool(database.url);
  const db = openDatabase(pool);
  const secrets = openSecrets([randomBytes(32)]);
  await db.transaction().execute((tx) => createKeys(tx, secrets));
  const logLines: string[] = [];
  const log = openLog('debug', { write: (line) => void logLines.push(line) });
  const platform = await openPlatform({ config: readConfig({}), db, log, secrets });
  const http = await serveApi(rooms, platform);
  afterAll(async () => {
    await http.close();
    await db.destroy();
    await database.drop();
  });

  const send = async (options: InjectOptions): Promise<Reply> => {
    const { statusCode, headers, payload } = await http.inject(options);
    const isJson = String(headers['content-type']).includes('json') && payload !== '' && headers['content-encoding'] === undefined;
    return { status: statusCode, headers, text: payload, json: isJson ? JSON.parse(payload) : undefined };
  };

  const person: TestPlatform['person'] = async (fields = {}) => {
    peopleSoFar += 1;
    const username = `person-${peopleSoFar}`;
    const user = await insertUser(db, { username, email: `${username}@example.org`, ...fields });
    const { token: apiToken = '' } = await createApiToken(db, user, 'test');
    const { json } = await send({
      method: 'POST',
      url: '/oauth2/token',
      headers: { authorization: `Basic ${btoa('platform-api-user:')}` },
      payload: { grant_type: 'api_token', api_token: apiToken },
    });
    const accessToken = json.access_token as string;
    return {
      user,
      apiToken,
      accessToken,
      send: (method, path, body) =>
        send({
          method: method,
          url: path,
          headers: { authorization: `Bearer ${accessToken}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
          ...(body !== undefined && { payload: JSON.stringify(body) }),
        }),
    };
  };

  return { platform, http, logLines, send, person };
}

/** A database of one's own, as the migrations leave it. */
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
