/**
 * Something beyond the machine, for tests of what containers reach: a namespace of its own with addresses like those of the internet, of private
 * networks and of clouds, each of which answers with who asks. Several can be open at once, and nothing of theirs leaves the machine.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { deleteLink } from './test-machine.ts';

const blocksMax = 16;
const blockAddresses = 16;

export interface World {
  ready: Promise<unknown>;
  /** The machine's end of the way there. */
  link: string;
  /** What the machine is called there. */
  machine: string;
  /** Of the internet. */
  near: string;
  far: string;
  /** Where clouds keep secrets. */
  metadata: string[];
  /** One of each kind of private network. */
  private: string[];
  /** Of IPv6; the machine reaches it. */
  six: string;
  remove(): void;
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] });

export function openWorld(instance: string): World {
  const [namespace, link] = [`world-${instance}`, `w-${instance}`];
  ip('netns', 'add', namespace);
  ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
  ip('link', 'set', link, 'up');
  ip('-netns', namespace, 'link', 'set', 'eth0', 'up');
  const block = takeBlock(link);
  const addresses = addressesOf(block);
  const { machine, near, far, metadata, private: others, six } = addresses;
  ip('addr', 'add', `${machine}/32`, 'dev', link);
  for (const address of [near, far, ...metadata, ...others]) ip('-netns', namespace, 'addr', 'add', `${address}/32`, 'dev', 'eth0');
  for (const address of [...metadata, ...others]) ip('route', 'replace', `${address}/32`, 'dev', link, 'src', machine);
  ip('-netns', namespace, 'route', 'add', 'default', 'dev', 'eth0');
  ip('addr', 'add', `fd0f:0:0:${block}::1/64`, 'dev', link, 'nodad');
  ip('-netns', namespace, 'addr', 'add', `${six}/64`, 'dev', 'eth0', 'nodad');
  ip('-netns', namespace, 'route', 'add', 'default', 'via', `fd0f:0:0:${block}::1`);
  const server = serveIn(namespace);
  const remove = () => {
    server.kill('SIGKILL');
    ip('netns', 'delete', namespace);
    deleteLink(link);
  };
  return { ready: once(server.stdout!, 'data'), link, ...addresses, remove };
}

/** Only one can add a route: what another world has is left to it. */
function takeBlock(link: string): number {
  for (let block = 0; block < blocksMax; block++) {
    try {
      ip('route', 'add', `198.51.100.${block * blockAddresses}/28`, 'dev', link);
      return block;
    } catch (error) {
      if (!String(error).includes('File exists')) throw error;
    }
  }
  throw new Error('Too many worlds are open on this machine');
}

const addressesOf = (block: number) => ({
  machine: `198.51.100.${block * blockAddresses + 1}`,
  near: `198.51.100.${block * blockAddresses + 2}`,
  far: `198.51.100.${block * blockAddresses + 3}`,
  metadata: [`169.254.77.${block}`, '100.100.100.200'],
  private: ['10.254', '100.127', '172.31', '192.0.0', '192.88.99', '192.168', '198.18'].map((network) =>
    network.split('.').length === 2 ? `${network}.77.${block}` : `${network}.${block + 1}`,
  ),
  six: `fd0f:0:0:${block}::2`,
});

const script = `const ports = [8080, 80, 25];
  let listening = 0;
  for (const port of ports) require('node:http').createServer((request, reply) => reply.end(request.socket.remoteAddress.replace('::ffff:', '')))
    .listen({ port, host: '::', backlog: 4096 }, () => { listening += 1; if (listening === ports.length) console.log('ready'); });`;

const serveIn = (namespace: string): ChildProcess =>
  spawn('ip', ['netns', 'exec', namespace, process.execPath, '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
