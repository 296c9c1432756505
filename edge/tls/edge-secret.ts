/**
 * A secret that the processes of one edge share and that is nowhere on a disk: whoever starts the edge puts it into its environment, which every process
 * gets from the one that starts it. It ends with the edge, or with the machine.
 */
import { hkdfSync, randomBytes } from 'node:crypto';

const variable = 'OFFSHOOT_EDGE_SECRET';
const secretBytes = 32;

export const newEdgeSecret = (): Record<string, string> => ({ [variable]: randomBytes(secretBytes).toString('base64') });

/** Of an edge that an older version started there is none: then it begins with this process, and those that it starts. */
export function edgeSecret(): Buffer {
  const given = Buffer.from(process.env[variable] ?? '', 'base64');
  if (given.length === secretBytes) return given;
  Object.assign(process.env, newEdgeSecret());
  return Buffer.from(process.env[variable] ?? '', 'base64');
}

const keyBytes = 32;
export const keyFor = (purpose: string) => Buffer.from(hkdfSync('sha256', edgeSecret(), '', purpose, keyBytes));
