/** The way out for tests that send to this machine: the real one, which may visit it. */
import { openOutbound } from '../outbound/outbound.ts';
import type { SinkNetwork } from './log-sink.ts';

/** `authorities` are trusted in the place of public ones. */
export function testNetwork(authorities: readonly string[] = []): SinkNetwork {
  const outbound = openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'] });
  return {
    ...outbound,
    request: (asked) => outbound.request({ ...asked, authorities }),
    connect: ({ tls, ...asked }) => outbound.connect({ ...asked, ...(tls && { tls: { ...tls, authorities } }) }),
  };
}
