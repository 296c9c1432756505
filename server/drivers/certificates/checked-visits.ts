/** What all visits to authorities share: only addresses that were checked are connected to, and no more than so much is read. */
import type { IncomingMessage, RequestOptions } from 'node:http';
import { isIP } from 'node:net';

/** Connects to the addresses that were checked, whatever the name resolves to a moment later. */
export const lookupOf = (addresses: readonly string[]): Pick<RequestOptions, 'lookup'> => ({
  lookup: (_, { all }, found) => {
    const entries = addresses.map((address) => ({ address, family: isIP(address) }));
    if (all) found(null, entries);
    else found(null, entries[0]?.address ?? '', entries[0]?.family);
  },
});

export async function readBounded(reply: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
