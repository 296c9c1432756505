/** The key with which a project fetches private repositories: people let its public half in there; its private half never leaves unsealed. */
import { generateKeyPairSync } from 'node:crypto';
import { publicKeyLine } from '../../drivers/ssh/public-key.ts';
import type { Secrets } from '../../kernel/secrets.ts';

export function freshClientKey(projectId: string, secrets: Secrets) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const point = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  const type = 'ssh-ed25519';
  const blob = Buffer.concat([Buffer.from(type), point].flatMap((part) => [lengthOf(part), part]));
  return {
    client_public_key: `${publicKeyLine({ type, blob })} ${projectId}`,
    client_key_sealed: secrets.seal(`client key of ${projectId}`, String(privateKey.export({ type: 'pkcs8', format: 'pem' }))),
  };
}

function lengthOf(part: Buffer) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return length;
}
