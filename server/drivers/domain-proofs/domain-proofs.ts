/**
 * What the owner of a domain has put up for us to see: where it leads, a TXT record, asked of the domain's own name servers, or a text at an address of its web server.
 * Whoever can put either there has the domain. Neither throws: what cannot be seen is not there.
 */
import { openDnsView, type Destination } from '../certificates/dns/dns-view.ts';
import { mayVisit } from '../outbound/addresses.ts';
import { openOutbound, type Outbound } from '../outbound/outbound.ts';

export interface DomainProofs {
  /** Whether all name servers that answer have this TXT record. */
  hasText(name: string, value: string): Promise<boolean>;
  /** Where DNS says that a name leads now; undefined: nobody answers. */
  whereTo(name: string): Promise<Destination | undefined>;
  /** Whether `http://<host><path>` answers with this text and nothing else. */
  hasPage(host: string, path: string, text: string): Promise<boolean>;
}

interface Reach {
  /** Networks that are visited although they are not public. */
  allowPrivateAddresses: readonly string[];
  /** To be asked in the place of a domain's own name servers. */
  nameServers?: readonly string[];
  httpPort?: number;
}

export function openDomainProofs({ allowPrivateAddresses, nameServers, httpPort = 80 }: Reach): DomainProofs {
  const mayAsk = (address: string) => mayVisit(address, allowPrivateAddresses);
  const dns = openDnsView({ mayAsk, ...(nameServers && { servers: nameServers }) });
  const outbound = openOutbound({ allowPrivateAddresses });
  return {
    hasText: (name, value) => dns.hasText(name, value).catch(() => false),
    whereTo: (name) => dns.whereTo(name).catch(() => undefined),
    hasPage: async (host, path, text) => (await pageAt(outbound, httpPort, host, path)) === text,
  };
}

const secondsMax = 5;
const replyBytesMax = 4096;

/** Undefined where it cannot be had. No redirect is followed: it would prove something of another host. */
async function pageAt(outbound: Outbound, port: number, host: string, path: string): Promise<string | undefined> {
  const url = `http://${host}:${port}${path}`;
  const reply = await outbound.request({ url, headers: { host }, secondsMax, replyBytesMax }).catch(() => undefined);
  return reply?.status === 200 ? reply.body.toString().trim() : undefined;
}
