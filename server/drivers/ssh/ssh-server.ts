/**
 * A door for SSH. It lets in whoever signs with a key or certificate that `identify` knows, and hands their commands to `run`; there is no shell,
 * no forwarding and nothing else behind it. Connections, attempts, channels and waiting are bounded.
 */
import type { KeyObject } from 'node:crypto';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import ssh2, { type AuthContext, type Connection, type PublicKeyAuthContext, type ServerChannel, type Session } from 'ssh2';
import type { Log } from '../../kernel/log.ts';
import { isSignature, isWholeSignature } from './signature.ts';

export interface SshDoor<Who> {
  host: string;
  port: number;
  hostKeys: string[];
  log: Log;
  /** Environment variables that a client may send; others are ignored. */
  variables: readonly string[];
  /** Whose key that is; undefined: nobody's. */
  identify(offered: OfferedKey): Promise<{ who: Who; key: KeyObject } | undefined>;
  run(command: Command<Who>): void;
  /** Said to those who want a terminal. */
  noShell: string;
}

export interface OfferedKey {
  /** The name under which they come. */
  user: string;
  blob: Buffer;
  address: string;
}

export interface Command<Who> {
  who: Who;
  user: string;
  line: string;
  variables: ReadonlyMap<string, string>;
  channel: ServerChannel;
}

const connectionsMax = 500;
const connectionsPerAddressMax = 64;
const signInSecondsMax = 30;
const attemptsMax = 20;
const sessionsMax = 10;
const idleSecondsMax = 60;
const keepaliveSeconds = 30;
const keepalivesMissedMax = 6;
const commandCharactersMax = 1000;
const variableCharactersMax = 200;
const closeSecondsMax = 3;

const algorithms = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group14-sha256',
  ],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes256-ctr', 'aes192-ctr', 'aes128-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
} satisfies ssh2.Algorithms;

export async function openSshServer<Who>(door: SshDoor<Who>) {
  const sockets = new Map<string, Socket>();
  const perAddress = new Map<string, number>();
  const protocol = new ssh2.Server({
    hostKeys: door.hostKeys,
    ident: 'Offshoot',
    algorithms,
    keepaliveInterval: keepaliveSeconds * 1000,
    keepaliveCountMax: keepalivesMissedMax,
  });

  const listener = createServer((socket) => {
    const { remoteAddress: address = '', remotePort: port = 0 } = socket;
    const already = perAddress.get(address) ?? 0;
    if (sockets.size >= connectionsMax || already >= connectionsPerAddressMax) return void socket.destroy();
    const key = `${address} ${port}`;
    sockets.set(key, socket);
    perAddress.set(address, already + 1);
    socket.setNoDelay(true).on('error', () => {});
    socket.setTimeout(signInSecondsMax * 1000, () => socket.destroy());
    const late = setTimeout(() => socket.destroy(), signInSecondsMax * 1000);
    socket.once('signed-in', () => {
      clearTimeout(late);
      socket.setTimeout(0);
    });
    socket.once('close', () => {
      clearTimeout(late);
      sockets.delete(key);
      const left = (perAddress.get(address) ?? 1) - 1;
      if (left > 0) perAddress.set(address, left);
      else perAddress.delete(address);
    });
    protocol.injectSocket(socket);
  });
  protocol.on('connection', (client, { ip, port }) => receive(client, sockets.get(`${ip} ${port}`), ip, door));

  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(door.port, door.host, resolve);
  });
  return {
    port: (listener.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const socket of sockets.values()) socket.end();
      const late = setTimeout(() => sockets.forEach((socket) => socket.destroy()), closeSecondsMax * 1000);
      await closed;
      clearTimeout(late);
    },
  };
}

function receive<Who>(client: Connection, socket: Socket | undefined, address: string, door: SshDoor<Who>) {
  let attempts = 0;
  let signedIn: { who: Who; user: string } | undefined;
  client.on('error', (error) => door.log.debug({ err: error, address }, 'a connection over SSH went wrong'));

  const authenticate = async (context: AuthContext) => {
    if (context.method !== 'publickey') return context.reject(['publickey']);
    attempts += 1;
    if (attempts > attemptsMax) return void client.end();
    const found = await door.identify({ user: context.username, blob: context.key.data, address });
    if (!found || (context.signature && !isSigned(context, found.key))) return context.reject(['publickey']);
    if (context.signature) signedIn = { who: found.who, user: context.username };
    context.accept();
  };
  client.on('authentication', (context) => {
    authenticate(context).catch((error: unknown) => {
      door.log.error({ err: error, address }, 'nobody could be signed in over SSH');
      client.end();
    });
  });

  let sessions = 0;
  let idle: NodeJS.Timeout | undefined;
  const rest = () => {
    clearTimeout(idle);
    if (sessions === 0) idle = setTimeout(() => client.end(), idleSecondsMax * 1000);
  };
  client.on('ready', () => {
    socket?.emit('signed-in');
    rest();
    client.on('session', (accept, reject) => {
      if (!signedIn || sessions >= sessionsMax) return reject();
      sessions += 1;
      rest();
      const session = accept();
      session.once('close', () => {
        sessions -= 1;
        rest();
      });
      serveSession(session, signedIn, door);
    });
  });
  client.on('close', () => clearTimeout(idle));
}

/** A certificate's signature comes with its algorithm in front, a plain key's without, and with two numbers already put as OpenSSL likes them. */
function isSigned({ key, blob, signature, hashAlgo }: PublicKeyAuthContext, publicKey: KeyObject): boolean {
  if (!blob || !signature) return false;
  if (key.algo.includes('-cert-')) return isWholeSignature(publicKey, blob, signature);
  const algorithm = key.algo === 'ssh-rsa' ? `rsa-${hashAlgo === undefined ? 'sha1' : hashAlgo.replace('sha', 'sha2-')}` : key.algo;
  return isSignature(publicKey, algorithm, blob, signature, false);
}

function serveSession<Who>(session: Session, { who, user }: { who: Who; user: string }, door: SshDoor<Who>) {
  const variables = new Map<string, string>();
  let isBusy = false;
  session.on('env', (accept, reject, { key, val }) => {
    const isWanted = door.variables.includes(key) && val.length <= variableCharactersMax;
    if (isWanted) variables.set(key, val);
    (isWanted ? accept : reject)?.();
  });
  session.on('pty', (accept) => accept?.());
  session.on('shell', (accept) => {
    if (!isBusy) refuse(accept(), door.noShell);
    isBusy = true;
  });
  session.on('exec', (accept, reject, { command }) => {
    if (isBusy) return reject();
    isBusy = true;
    const channel = accept();
    channel.on('error', () => {});
    if (command.length > commandCharactersMax) refuse(channel, door.noShell);
    else door.run({ who, user, line: command, variables, channel });
  });
}

/** In words, on the terminal of whoever asked. */
export function refuse(channel: ServerChannel, sentence: string) {
  channel.stderr.write(`${sentence}\n`);
  channel.exit(1);
  channel.end();
}
