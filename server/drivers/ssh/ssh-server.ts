/**
 * A door for SSH. It lets in whoever signs with a key or certificate that `identify` knows, and hands what they ask for to the `Guest` that `receive`
 * makes of them. Nothing else is behind it: the client's agents, screens, sockets and ports are never used. Connections, attempts, channels,
 * buffers and waiting are bounded.
 */
import type { KeyObject } from 'node:crypto';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import ssh2, { type AuthContext, type Connection, type PublicKeyAuthContext, type ServerChannel } from 'ssh2';
import { countedAs } from '../../../edge/client/addresses.ts';
import { OpenConnections, crowdedSentence, endWith, type ConnectionLimits } from '../../../edge/client/open-connections.ts';
import type { Log } from '../../kernel/log.ts';
import { carry } from './forward.ts';
import { isSignature, isWholeSignature } from './signature.ts';
import { tellSignatureAlgorithms } from './signature-algorithms.ts';
import { serveSession, type Asked } from './session-channel.ts';

export type { Asked, Line, Terminal, Want } from './session-channel.ts';

export interface SshDoor<Who> {
  host: string;
  port: number;
  hostKeys: string[];
  log: Log;
  /** Environment variables that a client may send; others are ignored. */
  variables: readonly string[];
  /** Who the owner of the key is; undefined: nobody. */
  identify(offered: OfferedKey): Promise<{ who: Who; key: KeyObject } | undefined>;
  receive(visitor: Visitor<Who>): Guest;
}

export interface OfferedKey {
  /** The user name that the client gave. */
  user: string;
  blob: Buffer;
  address: string;
}

/** Somebody who was let in, for the length of one connection. */
export interface Visitor<Who> {
  who: Who;
  user: string;
  address: string;
  /** Ends the connection. */
  dismiss(): void;
  gone: AbortSignal;
}

export interface Guest {
  /** How long the connection may stay open with nothing in it; undefined: until it is dismissed. */
  idleSecondsMax?: number;
  run(asked: Asked): void;
  /** Connects to the target that the client names, in its own words. Undefined, or missing altogether: there is no such target here. */
  forward?(target: { host: string; port: number }): Promise<Socket | undefined>;
}

/** A connection that has not signed in gives way to a new one, and a client that finds no room is told so. */
const connectionLimits: ConnectionLimits = { connectionsMax: 500, connectionsPerAddressMax: 64 };
const signInSecondsMax = 30;
const attemptsMax = 20;
/** For one connection. */
const sessionsMax = 10;
const forwardsMax = 64;
/** Twice what a client may send before it is told to go on; a client that does not wait for that gets no more memory. */
const unreadBytesMax = 4 * 2 ** 20;
const keepaliveSeconds = 30;
const keepalivesMissedMax = 6;
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
  const taken = new OpenConnections<Socket>(connectionLimits, (socket) => socket.destroy());
  const protocol = new ssh2.Server({
    hostKeys: door.hostKeys,
    ident: 'Offshoot',
    algorithms,
    keepaliveInterval: keepaliveSeconds * 1000,
    keepaliveCountMax: keepalivesMissedMax,
  });

  const listener = createServer((socket) => {
    const { remoteAddress: address = '', remotePort: port = 0 } = socket;
    const crowded = taken.makeRoom(countedAs(address));
    if (crowded !== undefined) return endWith(socket, `${crowdedSentence(crowded)}\r\n`);
    const key = `${address} ${port}`;
    sockets.set(key, socket);
    taken.take(socket, countedAs(address));
    socket.setNoDelay(true).on('error', () => {});
    socket.setTimeout(signInSecondsMax * 1000, () => socket.destroy());
    const late = setTimeout(() => socket.destroy(), signInSecondsMax * 1000);
    socket.once('signed-in', () => {
      clearTimeout(late);
      taken.keep(socket);
      socket.setTimeout(0);
    });
    socket.once('close', () => {
      clearTimeout(late);
      sockets.delete(key);
      taken.giveUp(socket);
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
  tellSignatureAlgorithms(client);
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

  client.on('ready', () => {
    if (!signedIn || !socket) return void client.end();
    socket.emit('signed-in');
    entertain(client, socket, { ...signedIn, address }, door);
  });
}

/** Serves a visitor from being let in to the end of the connection. */
function entertain<Who>(
  client: Connection,
  socket: Socket,
  { who, user, address }: Omit<Visitor<Who>, 'dismiss' | 'gone'>,
  door: SshDoor<Who>,
) {
  const leaving = new AbortController();
  const guest = door.receive({ who, user, address, gone: leaving.signal, dismiss: () => dismiss(client, socket) });
  const open = { sessions: 0, forwards: 0 };
  let idle: NodeJS.Timeout | undefined;
  const count = (kind: keyof typeof open, change: 1 | -1) => {
    open[kind] += change;
    clearTimeout(idle);
    if (open.sessions + open.forwards === 0 && guest.idleSecondsMax !== undefined && !leaving.signal.aborted)
      idle = setTimeout(() => client.end(), guest.idleSecondsMax * 1000);
  };
  client.on('close', () => {
    leaving.abort();
    clearTimeout(idle);
  });
  const watched = watchBuffers(socket);

  count('sessions', 1);
  count('sessions', -1);
  client.on('session', (accept, reject) => {
    if (open.sessions >= sessionsMax) return reject();
    const session = accept();
    const closing = new AbortController();
    count('sessions', 1);
    session.once('close', () => closing.abort());
    const gone = AbortSignal.any([leaving.signal, closing.signal]);
    gone.addEventListener('abort', () => count('sessions', -1), { once: true });
    serveSession(session, socket, gone, { variables: door.variables, run: (asked) => guest.run(asked) }, (channel) =>
      watched(channel, gone),
    );
  });
  client.on('tcpip', (accept, reject, { destIP: host, destPort: port }) => {
    if (open.forwards >= forwardsMax || !guest.forward) return reject();
    count('forwards', 1);
    guest
      .forward({ host, port })
      .then((target) => (target ? carry(accept, target, socket, leaving.signal, watched) : reject()))
      .catch((error: unknown) => {
        door.log.error({ err: error, address }, 'a connection through SSH failed');
        reject();
      })
      .finally(() => count('forwards', -1));
  });
}

/** Closes the connection: in order where the client still reads, and soon in any case. */
function dismiss(client: Connection, socket: Socket) {
  client.end();
  setTimeout(() => socket.destroy(), closeSecondsMax * 1000).unref();
}

/** A client that sends more than it was told that there is room for would fill the memory: its connection ends. */
function watchBuffers(socket: Socket) {
  const channels = new Set<ServerChannel>();
  socket.on('data', () => {
    for (const { readableLength } of channels) if (readableLength > unreadBytesMax) socket.destroy();
  });
  return (channel: ServerChannel, gone: AbortSignal) => {
    channels.add(channel);
    gone.addEventListener('abort', () => channels.delete(channel), { once: true });
  };
}

/** The signature of a certificate comes with its algorithm in front; that of a plain key without it, and with its two numbers already in OpenSSL's form. */
function isSigned({ key, blob, signature, hashAlgo }: PublicKeyAuthContext, publicKey: KeyObject): boolean {
  if (!blob || !signature) return false;
  if (key.algo.includes('-cert-')) return isWholeSignature(publicKey, blob, signature);
  const algorithm = key.algo === 'ssh-rsa' ? `rsa-${hashAlgo === undefined ? 'sha1' : hashAlgo.replace('sha', 'sha2-')}` : key.algo;
  return isSignature(publicKey, algorithm, blob, signature, false);
}
