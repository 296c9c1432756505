/**
 * SMTP, as apps speak it to the relay: without credentials, because a connection tells whose it is, and without TLS, because nothing of it leaves the machine. What is
 * refused is refused before it is read where that is possible, with a sentence. What is under way is bounded: connections, and bytes of messages in memory.
 */
import { BlockList, createServer, type Server, type Socket } from 'node:net';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import type { Envelope } from '../../drivers/mail/relayed-mail.ts';
import { limit, tally, type Limit } from '../../kernel/limits.ts';
import type { Log } from '../../kernel/log.ts';
import type { RelayLimits } from '../../setting-values.ts';
import { messageBytesMax, relayBounds, type RelayBounds } from './limits.ts';
import { openBytesUnderWay, readMessage, type BytesUnderWay } from './read-message.ts';
import { Refusal } from './refusal.ts';
import type { FindSender, MailSender } from './senders.ts';

export interface MailIntake {
  findSender: FindSender;
  /** Throws a Refusal where the sender may not send now, whatever it is. */
  refuseSender(sender: MailSender): Promise<void>;
  /** Resolves, with an id, once the message cannot be lost any more. */
  take(sender: MailSender, envelope: Envelope, message: Buffer): Promise<string>;
  counted(what: Counted): void;
}

/** A message that was taken, or something that was refused. */
export type Counted = { taken: true; bytes: number; recipients: number } | { taken: false; why: Refusal };

export interface SmtpEndpointParts {
  intake: MailIntake;
  limits: RelayLimits;
  /** How the relay calls itself. */
  name: string;
  log: Pick<Log, 'error'>;
  /** Which connections are those of containers. */
  isFromContainers?: (socket: Socket) => boolean;
}

export interface SmtpEndpoint {
  server: Server;
  connections(): number;
  /** Tells those who are connected that the relay goes. */
  close(): void;
}

export function openSmtpEndpoint(
  { intake, limits, name, log, isFromContainers = isAtGateway }: SmtpEndpointParts,
  bounds: RelayBounds = relayBounds,
): SmtpEndpoint {
  const visits = openVisits(bounds);
  const underWay = openBytesUnderWay(bounds);
  const storing = limit(bounds.takenAtOnce);
  const answering = answersFor(intake, log);
  const smtp = new SMTPServer({
    name,
    banner: 'Offshoot relay',
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    size: messageBytesMax(limits),
    maxClients: bounds.connections,
    socketTimeout: bounds.idleSeconds * 1000,
    onConnect: (session, done) => void answering(done, async () => visits.begin(session, await intake.findSender(session.remoteAddress))),
    onMailFrom: (_, session, done) => void answering(done, () => intake.refuseSender(visits.senderOf(session))),
    onRcptTo: (_, session, done) => void answering(done, async () => refuseRecipients(session, limits)),
    onData: (stream, session, done) =>
      void answering(done, () => receive(stream, session, { intake, limits, bounds, underWay, storing, visits })),
    onClose: (session) => visits.end(session),
  });
  smtp.on('error', () => {}); // a container went away in the middle of a sentence
  const server = createServer((socket) => void (isFromContainers(socket) ? smtp.connect(socket) : socket.destroy()));
  return {
    server,
    connections: () => smtp.connections.size,
    close: () => {
      server.close();
      for (const connection of smtp.connections) connection.send(421, 'The platform is being stopped; try again in a moment.');
    },
  };
}

/** The addresses of containers' networks; everything else of the machine is for others. */
const networks = new BlockList();
networks.addSubnet('100.64.0.0', 10);
const isAtGateway = ({ localAddress = '' }: Socket) => networks.check(localAddress.replace(/^::ffff:/, ''));

type Done = (error?: Error | null, message?: string) => void;

/** What is no refusal is a bug, and costs the sender a repetition. */
const answersFor =
  ({ counted }: MailIntake, log: Pick<Log, 'error'>) =>
  async (done: Done, work: () => Promise<string | void>): Promise<void> => {
    let message: string | void;
    try {
      message = await work();
    } catch (error) {
      if (!(error instanceof Refusal)) log.error({ err: error }, 'mail of an app could not be taken');
      const why = error instanceof Refusal ? error : new Refusal('failed', 'The platform could not take this; try again.');
      counted({ taken: false, why });
      return done(why);
    }
    return message === undefined ? done() : done(null, message);
  };

/** Who is connected, by session. */
function openVisits({ connectionsOfEnvironment, connectionsOfOrganization }: RelayBounds) {
  const senders = new WeakMap<SMTPServerSession, MailSender>();
  const leaving = new WeakMap<SMTPServerSession, () => void>();
  /** Some go before it is known who they are. */
  const gone = new WeakSet<SMTPServerSession>();
  const connected = tally();
  return {
    begin(session: SMTPServerSession, sender: MailSender | undefined) {
      if (!sender) throw new Refusal('stranger', 'Mail is taken from environments that run, and from nobody else.');
      const [environment, organization] = [`environment ${sender.stackId}`, `organization ${sender.organizationId}`];
      if (connected.of(environment) >= connectionsOfEnvironment || connected.of(organization) >= connectionsOfOrganization)
        throw new Refusal('connections', 'There are too many connections of this environment, or of its organization; close some.');
      senders.set(session, sender);
      if (!gone.has(session)) leaving.set(session, connected.add(environment, organization));
    },
    end(session: SMTPServerSession) {
      gone.add(session);
      leaving.get(session)?.();
    },
    senderOf(session: SMTPServerSession): MailSender {
      const sender = senders.get(session);
      if (!sender) throw new Error('Nobody is known to have connected');
      return sender;
    },
  };
}

async function refuseRecipients({ envelope }: SMTPServerSession, { recipients }: RelayLimits): Promise<void> {
  if (envelope.rcptTo.length >= recipients)
    throw new Refusal('recipients', `A message has ${recipients} recipients at most; send it to the others as another one.`);
}

interface Receiving {
  intake: MailIntake;
  limits: RelayLimits;
  bounds: RelayBounds;
  underWay: BytesUnderWay;
  storing: Limit;
  visits: Pick<ReturnType<typeof openVisits>, 'senderOf'>;
}

async function receive(stream: SMTPServerDataStream, session: SMTPServerSession, receiving: Receiving): Promise<string> {
  const { intake, limits, bounds, underWay, storing, visits } = receiving;
  const sender = visits.senderOf(session);
  const { mailFrom, rcptTo } = session.envelope;
  const envelope = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) };
  const held = underWay.hold(sender.organizationId);
  try {
    const message = await readMessage(stream, { bytesMax: messageBytesMax(limits), hopsMax: bounds.hops, hold: held.more });
    const id = await storing(() => intake.take(sender, envelope, message));
    intake.counted({ taken: true, bytes: message.length, recipients: envelope.to.length });
    return `Taken as ${id}`;
  } finally {
    held.release();
  }
}
