/** How people get into what runs: which container that is, what they start there, and what its relationships lead to. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, Runtime } from '../../../drivers/runtime/runtime.ts';
import { runnablesOf } from '../stack/containers.ts';
import { instanceContainer } from '../stack/names.ts';
import type { Deployed } from '../queries.ts';
import { relationshipsOf } from '../stack/relationships.ts';
import { serviceAddresses } from '../deploy/services.ts';

/** The container of an instance. `runs`: an app, or `<app>--<worker>`. */
export const instanceName = ({ stack, generations }: Deployed, runs: string, instance: number) =>
  instanceContainer(stack.id, runs, generations[runs] ?? stack.deployment.number, instance);

const enterScript = readFileSync(join(import.meta.dirname, 'enter.sh'), 'utf8');
const fileTransfer = '/usr/lib/openssh/sftp-server';
const env = { USER: 'app', LOGNAME: 'app', SHELL: '/bin/bash' };

const enter = (...args: string[]): Pick<Command, 'argv' | 'env'> => ({ argv: ['bash', '-c', enterScript, 'enter', ...args], env });

export const shellCommand = () => enter();
export const typedCommand = (line: string) => enter(line);
export const fileTransferCommand = () => enter(fileTransfer);

/** Where one can connect to the service or app of a relationship. */
export interface Endpoint {
  /** The names and addresses by which the app knows the service. */
  hosts: string[];
  port: number;
  address: string;
}

/** What the relationships of an app or worker lead to, and nothing else. A relationship with an app leads to its first instance. */
export async function endpointsFrom({ state }: Pick<Runtime, 'state'>, deployed: Deployed, runs: string): Promise<Endpoint[]> {
  const { stack } = deployed;
  const runnable = runnablesOf(stack).find(({ name }) => name === runs);
  if (!runnable) return [];
  const apps = await Promise.all(
    runnablesOf(stack).map(async ({ name }) => [name, (await state(instanceName(deployed, name, 0))).address] as const),
  );
  const addresses = {
    ...Object.fromEntries(apps.map(([name, address]) => [name, address === undefined ? [] : [address]])),
    ...(await serviceAddresses({ runtime: { state } }, stack)),
  };
  return Object.values(relationshipsOf(stack, runnable, addresses)).flatMap((endpoints) =>
    endpoints.flatMap(({ host, hostname, ip, port }) => (ip === null ? [] : [{ hosts: [host, hostname, ip], port, address: ip }])),
  );
}
