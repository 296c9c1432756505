/** The server's own key, in the form that OpenSSH keeps private keys in. */
import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { string, uint32 } from './wire.ts';

export const newHostKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;

const type = 'ssh-ed25519';
const blockBytes = 8;

export function openSshPrivateKey(key: KeyObject): string {
  const { x = '', d = '' } = key.export({ format: 'jwk' });
  const [point, secret] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')];
  const check = randomBytes(4);
  const inside = Buffer.concat([check, check, string(type), string(point), string(Buffer.concat([secret, point])), string('')]);
  const padding = Buffer.from(Array.from({ length: (blockBytes - (inside.length % blockBytes)) % blockBytes }, (_, n) => n + 1));
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    string('none'),
    string('none'),
    string(''),
    uint32(1),
    string(Buffer.concat([string(type), string(point)])),
    string(Buffer.concat([inside, padding])),
  ]);
  const lines = whole.toString('base64').match(/.{1,70}/g) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n');
}

export function hostKeyLine(key: KeyObject): string {
  const { x = '' } = key.export({ format: 'jwk' });
  return `${type} ${Buffer.concat([string(type), string(Buffer.from(x, 'base64url'))]).toString('base64')}`;
}
