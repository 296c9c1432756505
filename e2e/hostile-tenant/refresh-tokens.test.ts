/**
 * A refresh token that two processes of one installation are shown, which share nothing but the database. At the same moment both answer, as to a client that lost
 * an answer; once it is old, whoever shows it again is a thief, and the sign-in is over wherever one asks.
 */
import { join } from 'node:path';
import type { InjectOptions } from 'fastify';
import { expect, test } from 'vitest';
import { freePort } from '../../edge/testing/ports.ts';
import { sharedPostgresUrl } from '../../server/drivers/postgres/embedded.ts';
import { openPool } from '../../server/kernel/sql.ts';
import { answerOf, authorizeUrl, freshVerifier, openBrowser, openProgram } from '../../server/testing/browser.ts';
import { createInstallation, plainHttp, type Installation } from '../installation.ts';

const startMilliseconds = 400_000;

/** A process that has the API alone. */
async function startApi({ launch, url }: Installation): Promise<string> {
  const [port, sshPort] = [await freePort(), await freePort()];
  const settings = { OFFSHOOT_URL: url, OFFSHOOT_PORT: String(port), OFFSHOOT_SSH_PORT: String(sshPort) };
  await launch(settings, ['--only', 'api']).untilReady();
  return `http://127.0.0.1:${port}`;
}

/** What browsers and programs of tests ask with. */
interface Asked {
  method?: string;
  url: string;
  headers?: Record<string, string>;
  payload?: string;
}

/** As a test platform is spoken to, over the wire: to one of its processes, as somebody who knows the installation by its address. */
const speakingTo = (address: string, known: string) => ({
  async send(options: InjectOptions) {
    const { method = 'GET', url, headers = {}, payload } = options as Asked;
    const { host: _, origin, ...others } = headers;
    const reply = await fetch(new URL(url, address), {
      method,
      headers: { ...others, ...(origin !== undefined && { origin: known }) },
      redirect: 'manual',
      ...(payload !== undefined && { body: payload }),
    });
    const text = await reply.text();
    const isJson = reply.headers.get('content-type')?.includes('json') ?? false;
    return {
      status: reply.status,
      headers: { ...Object.fromEntries(reply.headers), 'set-cookie': reply.headers.getSetCookie() },
      text,
      json: isJson ? JSON.parse(text) : undefined,
    };
  },
});

test(
  'shown to two processes at once it works in both, and ends everything in both when it is old',
  { timeout: startMilliseconds },
  async () => {
    await using installation = await createInstallation(plainHttp);
    const { email, password } = await (await installation.start()).credentials();
    const addresses = await Promise.all([startApi(installation), startApi(installation)]);
    const programs = addresses.map((address) => openProgram(speakingTo(address, installation.url)));
    const atBoth = <T>(ask: (program: (typeof programs)[number]) => Promise<T>) => Promise.all(programs.map(ask));

    const browser = openBrowser(speakingTo(installation.url, installation.url));
    const verifier = freshVerifier();
    await browser.visit(authorizeUrl(verifier));
    await browser.signIn(email, password);
    const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
    const codes = await atBoth((program) => program.codeExchange(code, verifier));
    expect(
      codes.map(({ status }) => status).toSorted((one, other) => one - other),
      'a code works once, wherever it is shown',
    ).toEqual([200, 400]);

    await browser.visit(authorizeUrl(verifier));
    const { code: second = '' } = answerOf(await browser.submit({ answer: 'allow' }));
    const first = (await programs[0]?.codeExchange(second, verifier))?.json;
    const both = await atBoth((program) => program.refresh(first.refresh_token));
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    const successors = both.map(({ json }) => json);
    expect(new Set([first, ...successors].map(({ refresh_token }) => refresh_token)).size).toBe(3);
    for (const { access_token } of successors) expect(await atBoth((program) => program.me(access_token))).toEqual([200, 200]);

    const pool = openPool(sharedPostgresUrl(join(installation.data, 'postgres')));
    await pool.query(`update oauth_records set consumed_at = now() - interval '31 seconds' where consumed_at is not null`);
    await pool.end();
    const stolen = await atBoth((program) => program.refresh(first.refresh_token));
    expect(stolen.map(({ status, json }) => [status, json.error])).toEqual([
      [400, 'invalid_grant'],
      [400, 'invalid_grant'],
    ]);
    for (const { access_token, refresh_token } of [first, ...successors]) {
      expect(await atBoth((program) => program.me(access_token))).toEqual([401, 401]);
      expect((await atBoth((program) => program.refresh(refresh_token))).map(({ status }) => status)).toEqual([400, 400]);
    }
  },
);
