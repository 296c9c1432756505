/** The relay: takes mail from apps for as long as this process has the machine. */
import { once } from 'node:events';
import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Listener } from '../../kernel/listener.ts';
import type { Platform } from '../../platform.ts';
import { refuseBeyondLimits, refuseWithoutRoom, relayBounds } from './limits.ts';
import { instrumentsOf } from './instruments.ts';
import { Refusal } from './refusal.ts';
import { openSenders, standingOf, type FindSender } from './senders.ts';
import { openSmtpEndpoint, type MailIntake } from './smtp-endpoint.ts';
import { takeMail } from './take-mail.ts';

/** The port of SMTP, as containers see it. */
const smtpPort = 25;

export const serveRelay: Listener = {
  name: 'relay',
  async listen(platform, signal) {
    const { config, db, log } = platform;
    const { runtime } = await platform.machine();
    const intake = openMailIntake(platform, openSenders(db, runtime));
    const endpoint = openSmtpEndpoint({ intake, limits: config.relay.limits, name: config.domain, log });
    instrumentsOf(platform).connections = endpoint.connections;
    try {
      if (!(await listening(platform, endpoint.server, signal))) return;
      await runtime.admit({ purpose: 'mail', port: config.relay.port, as: smtpPort, whileNobodyListens: 'wait' });
      await aborted(signal);
    } finally {
      endpoint.close();
    }
  },
};

export const openMailIntake = (platform: Platform, findSender: FindSender): MailIntake => ({
  findSender,
  async refuseSender(sender) {
    const { db, config } = platform;
    const standing = await standingOf(db, sender);
    if (!standing.isOn) throw new Refusal('off', 'Outgoing mail is off in this environment; its owner can turn it on (enable_smtp).');
    refuseBeyondLimits(standing, config.relay.limits, 1);
    await refuseWithoutRoom(db, sender, relayBounds);
  },
  take: (sender, envelope, message) => takeMail(platform, sender, envelope, message),
  counted: (what) => instrumentsOf(platform).count(what),
});

const tryAgainMilliseconds = 10_000;

/** Waits for the port where somebody has it, such as the process that had the machine before. False: there is no need any more. */
async function listening({ config: { relay }, log }: Platform, server: Server, signal: AbortSignal): Promise<boolean> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      server.listen({ host: '0.0.0.0', port: relay.port });
      await once(server, 'listening', { signal });
      return true;
    } catch (error) {
      if (signal.aborted) break;
      if (attempt === 0)
        log.warn({ error, port: relay.port }, 'mail of apps cannot be taken, because the port is not free; it is tried again');
      await sleep(tryAgainMilliseconds, undefined, { signal }).catch(() => {});
    }
  }
  return false;
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
