/** Somebody outside, for tests: a receiver on this machine, projects with integrations, and all that has to happen until everybody was told. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { onTestFinished } from 'vitest';
import type { DeliveryKind } from '../../kernel/delivery.ts';
import { deliveryKindsOf } from '../../kernel/room.ts';
import { rooms } from '../../rooms.ts';
import { workThrough } from '../../testing/activities.ts';
import type { Person, TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { deliverDue } from '../deliveries/work.ts';
import { tellIntegrations } from './activity-hooks/tell-integrations.ts';

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
  json: any;
}

/** Answers with these statuses, one after the other, and with the last of them from then on. */
export async function openReceiver(...statuses: number[]) {
  const received: Received[] = [];
  const server = createServer((request, reply) => {
    void request.toArray().then((chunks) => {
      const text = Buffer.concat(chunks as Buffer[]).toString();
      const { method = '', url = '', headers } = request;
      received.push({ method, path: url, headers, text, json: text.startsWith('{') ? JSON.parse(text) : undefined });
      reply.writeHead(statuses[Math.min(received.length, statuses.length) - 1] ?? 200, { location: '/elsewhere' }).end('heard');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, url: `${origin}/hook`, received };
}

export async function openProject(owner: Person, ...bodies: object[]) {
  const { projectId } = await sampleProject(owner);
  const ids: string[] = [];
  for (const body of bodies) {
    const { json } = await owner.send('POST', `/projects/${projectId}/integrations`, body);
    ids.push(String(json._embedded.entity.id));
  }
  return { project: `/projects/${projectId}`, projectId, ids, first: `/projects/${projectId}/integrations/${ids[0]}` };
}

/** Something that happens in a project. */
export const addVariable = (owner: Person, project: string, name: string) =>
  owner.send('POST', `${project}/variables`, { name, value: 'secret-value' });

/** Until everything has come to its end, and everybody was told of it. */
export async function settle({ platform }: TestPlatform, kinds: readonly DeliveryKind[] = deliveryKindsOf(rooms)) {
  await workThrough(platform);
  await tellIntegrations.run(platform, new AbortController().signal);
  await deliverDue(kinds, platform);
  await workThrough(platform);
  await tellIntegrations.run(platform, new AbortController().signal);
}

/** Receivers that failed are tried again at once. */
export const pausesAreOver = ({ platform }: TestPlatform) => sql`update delivery_lanes set due_at = now()`.execute(platform.db);
