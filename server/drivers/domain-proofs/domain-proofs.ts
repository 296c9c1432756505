/**
 * What the owner of a domain has put up for us to see: a TXT record, asked of the domain's own name servers, or a text at an address of its web server.
 * Whoever can put either there has the domain. Neither throws: what cannot be seen is not there.
 */
import { get, type IncomingMessage } from 'node:http';
import { openDnsView } from '../certificates/dns/dns-view.ts';
import { mayVisit, visitableAddresses } from '../git/addresses.ts';

export interface DomainProofs {
  /** Whether all name servers that answer have this TXT record. */
  hasText(name: string, value: string): Promise<boolean>;
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
  return {
    hasText: (name, value) => dns.hasText(name, value).catch(() => false),
    hasPage: async (host, path, text) => {
      const [address] = await visitableAddresses(host, allowPrivateAddresses).catch(() => []);
      return address !== undefined && (await pageAt(address, httpPort, host, path)) === text;
    },
  };
}

const answerMillisecondsMax = 5000;
const pageBytesMax = 4096;

/** Undefined where it cannot be had. The address that was found fit is connected to, whatever DNS says by now. No redirect is followed: it would prove something of another host. */
async function pageAt(address: string, port: number, host: string, path: string): Promise<string | undefined> {
  const signal = AbortSignal.timeout(answerMillisecondsMax);
  const options = { host: address, port, path, signal, headers: { host, 'user-agent': 'offshoot' } };
  try {
    const reply = await new Promise<IncomingMessage>((resolve, reject) => get(options, resolve).on('error', reject));
    if (reply.statusCode !== 200) return void reply.destroy();
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of reply as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > pageBytesMax) return undefined;
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString().trim();
  } catch {
    return undefined;
  }
}
