/** Who is let in to a terminal in a browser. What happens inside is in inside.test.ts. */
import { once } from 'node:events';
import { get } from 'node:http';
import { beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { openTestPlatform, type Person } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { openTestTerminal } from './test-terminal.ts';
import { issueTicket } from './terminal-tickets.ts';

const home = await openTestPlatform();
let address: string;
let ada: Person;
beforeAll(async () => {
  address = await home.http.listen({ host: '127.0.0.1', port: 0 });
  ada = await home.person();
});

const origin = () => new URL(home.platform.config.url).origin;

/** A ticket to somewhere, as the operation makes it once it has asked who may get there. */
async function ticketOf(person: Person, destination = 'nowhere-main--app') {
  const caller = await home.platform.callerOf(person.accessToken);
  return (await issueTicket(home.platform.db, caller!, destination)).ticket;
}

/** The status with which it is refused to become a WebSocket. */
async function refusal(protocols: string[], headers: Record<string, string>): Promise<number> {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/terminal`, protocols, { headers });
  socket.on('error', () => {});
  const [, reply] = await once(socket, 'unexpected-response');
  return reply.statusCode;
}

test('a terminal is opened as a WebSocket, by a page of the platform, with a ticket', async () => {
  expect(await home.send({ url: '/terminal' })).toMatchObject({ status: 400, json: { message: 'A terminal is opened as a WebSocket.' } });
  const ticket = await ticketOf(ada);
  const protocols = ['offshoot.terminal', `ticket.${ticket}`];
  expect(await refusal(protocols, { origin: 'https://elsewhere.example' })).toBe(403);
  expect(await refusal(protocols, {})).toBe(403);
  expect(await refusal(['offshoot.terminal'], { origin: origin() })).toBe(401);
  expect(await refusal(['offshoot.terminal', 'ticket.invented'], { origin: origin() })).toBe(401);
  // A refused page has not used up the ticket; whoever is let in has.
  const terminal = await openTestTerminal(address, origin(), ticket);
  expect(await terminal.closed).toMatchObject({ exitCode: 1, said: expect.stringContaining('could not connect to service') });
  expect(await refusal(protocols, { origin: origin() })).toBe(401);
});

test('a ticket is good for seconds only, and for nobody whose session has ended', async () => {
  const late = await ticketOf(ada);
  await home.platform.db.updateTable('terminal_tickets').set({ expires_at: '2020-01-01T00:00:00Z' }).execute();
  expect(await refusal(['offshoot.terminal', `ticket.${late}`], { origin: origin() })).toBe(401);
  const bob = await home.person();
  const ticket = await ticketOf(bob);
  const [token] = (await bob.send('GET', `/users/${bob.user.id}/api-tokens`)).json;
  await bob.send('DELETE', `/users/${bob.user.id}/api-tokens/${token.id}`);
  const terminal = await openTestTerminal(address, origin(), ticket);
  expect((await terminal.closed).said).toContain('What you signed in with is no longer accepted');
});

test('other requests to become something else are answered as if nobody knew how', async () => {
  for (const [path, upgrade] of [
    ['/openapi.json', 'h2c'],
    ['/openapi.json', 'websocket'],
  ] as const) {
    const [reply] = await once(get(`${address}${path}`, { headers: { connection: 'Upgrade', upgrade } }), 'response');
    expect(reply.statusCode).toBe(200);
    reply.destroy();
  }
});

test('an environment in which nothing runs offers no terminal, and strangers are not told that it exists', async () => {
  const { projectId } = await sampleProject(ada);
  const path = `/projects/${projectId}/environments/main`;
  expect((await ada.send('GET', path)).json._links['#terminal']).toBeUndefined();
  expect((await ada.send('POST', `${path}/terminals`, { destination: 'app' })).status).toBe(403);
  const stranger = await home.person();
  expect((await stranger.send('POST', `${path}/terminals`, { destination: 'app' })).status).toBe(404);
});
