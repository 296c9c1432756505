/**
 * OpenSSH user certificates, as OpenSSH's PROTOCOL.certkeys describes them: the person's own public key, with their id as key id and only
 * principal, signed by the installation's authority. They last an hour and hold the usual permissions of a terminal session.
 */
import { createPublicKey, randomBytes, sign, type KeyObject } from 'node:crypto';
import { publicKeyLine, type PublicKey } from '../../drivers/ssh/public-key.ts';

const validSeconds = 3600;
/** Clocks differ a little. */
const skewSeconds = 60;
const userCertificate = 1;

/** In the order that the format demands. */
const extensions = ['permit-X11-forwarding', 'permit-agent-forwarding', 'permit-port-forwarding', 'permit-pty', 'permit-user-rc'];

export function certify({ type, blob }: PublicKey, userId: string, authority: KeyObject, now = Math.floor(Date.now() / 1000)): string {
  const certificateType = `${type}-cert-v01@openssh.com`;
  const keyFields = blob.subarray(4 + type.length);
  const signed = Buffer.concat([
    string(certificateType),
    string(randomBytes(32)),
    keyFields,
    uint64(randomBytes(8).readBigUInt64BE()),
    uint32(userCertificate),
    string(userId),
    string(string(userId)),
    uint64(BigInt(now - skewSeconds)),
    uint64(BigInt(now + validSeconds)),
    string(''),
    string(Buffer.concat(extensions.flatMap((name) => [string(name), string('')]))),
    string(''),
    string(authorityBlob(authority)),
  ]);
  const signature = Buffer.concat([string(authorityType), string(sign(null, signed, authority))]);
  return `${certificateType} ${Buffer.concat([signed, string(signature)]).toString('base64')}`;
}

const authorityType = 'ssh-ed25519';

/** The authority as a line for `TrustedUserCAKeys`. */
export const authorityLine = (authority: KeyObject) => publicKeyLine({ type: authorityType, blob: authorityBlob(authority) });

function authorityBlob(authority: KeyObject): Buffer {
  const { x = '' } = createPublicKey(authority).export({ format: 'jwk' });
  return Buffer.concat([string(authorityType), string(Buffer.from(x, 'base64url'))]);
}

function string(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}
