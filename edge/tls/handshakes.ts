/**
 * From an accepted connection to one that is encrypted: the client names a host, and gets its certificate, and the rules of its routes. A handshake costs more
 * than a request, so each address has its turn (turns.ts), and one that takes too long is ended. Node's tls.Server does the same for one certificate and one
 * set of rules; which of them apply is known here only when the client has named the host.
 */
import { constants } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { createSecureContext, TLSSocket, type SecureContext, type Server } from 'node:tls';
import { endQuietly } from '../client/socket-reading.ts';
import { Turns, type Shares } from '../client/turns.ts';
import type { HostSecurity } from '../routing/routing.ts';
import type { EdgeCertificate } from './certificate.ts';
import { contextOptions, type Certificates } from './certificates.ts';
import { readClientHello } from './client-hello.ts';
import { challengeProtocol, type ChallengeAnswers } from './challenges.ts';
import { periodOf, ticketKeysAt } from './ticket-keys.ts';

export interface HandshakesOptions {
  certificates: Certificates;
  challenges: ChallengeAnswers;
  /** What the routes of a host require. */
  securityOf(host: string): HostSecurity | undefined;
  /** The secret that the keys of tickets are derived from. */
  ticketSecret: Buffer;
}

/** What is known of a client when the connection is encrypted. */
export interface SecureClient {
  socket: TLSSocket;
  /** In lower case; undefined where the client named none. */
  serverName: string | undefined;
  protocol: 'h2' | 'http/1.1';
  certificate: ClientCertificate | undefined;
}

export interface ClientCertificate {
  /** `SUCCESS`, `NONE` where the client showed no certificate, or `FAILED:` and what is wrong with it. */
  verified: string;
  /** As PEM; undefined where the client showed none. */
  pem: string | undefined;
}

const handshakeShares: Shares = { alone: 8, amongOthers: 2 };
/** The first that the client offers too is spoken. In the form of the handshake, each behind its length: Node would make it anew for each connection. */
const protocols = Buffer.from('\x02h2\x08http/1.1', 'latin1');
const { SSL_OP_NO_RENEGOTIATION, SSL_OP_CIPHER_SERVER_PREFERENCE, SSL_OP_PRIORITIZE_CHACHA } = constants;

/** Parts of a TLSSocket that Node does not document, used here as Node's own servers use them. */
interface Internals {
  _handle: { setVerifyMode(request: boolean, reject: boolean): void; verifyError(): Error | null | undefined } | null;
  secureConnecting: boolean;
  /** After this call, what goes wrong is an error of the socket. */
  _releaseControl(): boolean;
}
const internalsOf = (socket: TLSSocket) => socket as unknown as Internals;

export class Handshakes {
  readonly #options: HandshakesOptions;
  readonly #turns = new Turns(handshakeShares);
  #base: { period: number; certificate: EdgeCertificate | undefined; context: SecureContext } | undefined;

  constructor(options: HandshakesOptions) {
    this.#options = options;
  }

  /** Calls `onSecure`, unless the socket closes before. */
  begin(socket: Socket, address: string, onSecure: (client: SecureClient) => void) {
    const start = () => {
      if (socket.destroyed) return;
      if (this.#options.challenges.areOpen) this.#peek(socket, onSecure);
      else this.#secure(socket, onSecure);
    };
    if (this.#turns.mayGo(address)) start();
    else this.#turns.wait(address, start);
  }

  /** Node has the certificate chosen before it tells which protocols a client offers, so its first message is searched for the protocol of proofs. */
  #peek(socket: Socket, onSecure: (client: SecureClient) => void) {
    let bytes: Buffer = Buffer.alloc(0);
    const onReadable = () => {
      const more = socket.read() as Buffer | null;
      if (more === null) return void socket.destroy();
      bytes = Buffer.concat([bytes, more]);
      const hello = readClientHello(bytes);
      if (hello === 'more') return;
      socket.off('readable', onReadable);
      socket.unshift(bytes);
      if (hello !== 'none' && hello.includes(challengeProtocol)) this.#prove(socket);
      else this.#secure(socket, onSecure);
    };
    socket.on('readable', onReadable);
  }

  /** A handshake with the right certificate is the whole proof. */
  #prove(socket: Socket) {
    const { challenges } = this.#options;
    const secured = new TLSSocket(socket, {
      isServer: true,
      ALPNCallback: ({ protocols: offered }) => offered.find((protocol) => protocol === challengeProtocol),
      SNICallback: (name, done) => {
        const context = challenges.contextFor(name.toLowerCase());
        done(context ? null : new Error('No proof is open for this name'), context);
      },
    });
    secured.on('secure', () => secured.end());
    secured.on('error', () => socket.destroy());
  }

  #secure(socket: Socket, onSecure: (client: SecureClient) => void) {
    const { certificates } = this.#options;
    const byDefault = certificates.find(undefined);
    const chosen: { stapled?: string | undefined } = { stapled: responseFor(byDefault) };
    const secured = new TLSSocket(socket, {
      isServer: true,
      secureContext: this.#baseContext(byDefault),
      rejectUnauthorized: false,
      server: staplingOf(chosen),
      ALPNProtocols: protocols,
      SNICallback: (name, done) => {
        chosen.stapled = responseFor(certificates.find(name.toLowerCase()));
        this.#chooseFor(secured, name.toLowerCase(), done);
      },
    });
    endQuietly(secured);
    secured.on('error', () => socket.destroy());
    secured.once('secure', () => {
      internalsOf(secured)._releaseControl();
      internalsOf(secured).secureConnecting = false;
      const client = this.#clientOf(secured);
      if (client) onSecure(client);
      else secured.destroy();
    });
  }

  #chooseFor(secured: TLSSocket, name: string, done: (error: Error | null, context?: SecureContext) => void) {
    const { certificates, securityOf } = this.#options;
    const certificate = certificates.find(name);
    const security = securityOf(name);
    if (security && isTooOld(secured.getProtocol(), security)) return done(new Error('The version of TLS is too old for this host'));
    if (security?.client_authentication) internalsOf(secured)._handle?.setVerifyMode(true, security.client_authentication === 'require');
    done(null, certificate && certificates.contextOf(certificate, security?.client_certificate_authorities ?? []));
  }

  /** Undefined where the client may not enter. */
  #clientOf(socket: TLSSocket): SecureClient | undefined {
    const serverName = nameOf(socket.servername);
    const authentication = serverName === undefined ? undefined : this.#options.securityOf(serverName)?.client_authentication;
    const certificate = authentication ? shownBy(socket) : undefined;
    if (authentication === 'require' && certificate?.verified !== 'SUCCESS') return undefined;
    return { socket, serverName, protocol: socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1', certificate };
  }

  /** The context that applies until the client has named a host. It also holds the keys of tickets, for all sessions. */
  #baseContext(byDefault: EdgeCertificate | undefined): SecureContext {
    const period = periodOf(Date.now());
    if (this.#base?.period === period && this.#base.certificate === byDefault) return this.#base.context;
    const context = createSecureContext({
      ...contextOptions,
      ...(byDefault && { cert: [byDefault.certificate, ...byDefault.chain].join('\n'), key: byDefault.key }),
      secureOptions: SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA,
      ticketKeys: ticketKeysAt(this.#options.ticketSecret, Date.now()),
    });
    this.#base = { period, certificate: byDefault, context };
    return context;
  }
}

/** An address does not count as the name of a host, even where a client sends it as one. */
const nameOf = (told: string | false | null | undefined) => (told && isIP(told) === 0 ? told.toLowerCase() : undefined);

/** Clients that are sent a response after its end may go away, which they do not where there is none. */
const responseFor = (certificate: EdgeCertificate | undefined) =>
  certificate?.stapled !== undefined && Date.parse(certificate.stapled_until ?? '') <= Date.now() ? undefined : certificate?.stapled;

type Stapled = (error: Error | null, response: Buffer | null) => void;

/** Node asks a server for the OCSP response to staple, and uses only these two functions of it. */
const staplingOf = (chosen: { stapled?: string | undefined }) =>
  ({
    listenerCount: (event: string) => (event === 'OCSPRequest' ? 1 : 0),
    emit: (_event: string, _certificate: Buffer, _issuer: Buffer, done: Stapled) =>
      done(null, chosen.stapled === undefined ? null : Buffer.from(chosen.stapled, 'base64')),
  }) as unknown as Server;

const versions = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];
const isTooOld = (spoken: string | null, { min_version }: HostSecurity) =>
  min_version !== null && versions.indexOf(spoken ?? '') < versions.indexOf(min_version);

function shownBy(socket: TLSSocket): ClientCertificate {
  const shown = socket.getPeerX509Certificate();
  if (!shown) return { verified: 'NONE', pem: undefined };
  const problem = internalsOf(socket)._handle?.verifyError();
  return { verified: problem ? `FAILED:${problem.message}` : 'SUCCESS', pem: shown.toString() };
}
