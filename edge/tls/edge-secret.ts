/**
 * A secret that the processes of one edge share and that is nowhere on a disk: the guard (process/launch.pl) has it in its environment, which every process gets
 * from the one that starts it. It ends with the edge, or with the machine.
 */
import { hkdfSync, randomBytes } from 'node:crypto';

const variable = 'OFFSHOOT_EDGE_SECRET';
const secretBytes = 32;
const keyBytes = 32;

/** The guard of an earlier version has none: then the secret begins with this process, and those that it starts. */
function edgeSecret(): Buffer {
  const given = Buffer.from(process.env[variable] ?? '', 'hex');
  if (given.length === secretBytes) return given;
  const secret = randomBytes(secretBytes);
  process.env[variable] = secret.toString('hex');
  return secret;
}

export const keyFor = (purpose: string) => Buffer.from(hkdfSync('sha256', edgeSecret(), '', purpose, keyBytes));
