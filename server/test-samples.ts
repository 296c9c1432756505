/** One of everything, for the tests that try every operation. A new entity has its line here, or those tests say so. */
import { randomBytes } from 'node:crypto';
import type { Entity, Operation } from './kernel/operation.ts';
import type { Person } from './test-platform.ts';

type Address = Record<string, string>;

const sampleOf: Record<string, (owner: Person) => Promise<Address>> = {
  user: async ({ user }) => ({ user_id: user.id, email: user.email, username: user.username }),
  'API token': async (owner) => {
    const { json } = await owner.send('POST', `/users/${owner.user.id}/api-tokens`, { name: crypto.randomUUID() });
    return { user_id: owner.user.id, token_id: json.id };
  },
  'SSH key': async (owner) => {
    const { json } = await owner.send('POST', '/ssh_keys', { value: freshPublicKey() });
    return { key_id: String(json.key_id) };
  },
};

/** A key nobody has yet, as `ssh-keygen -t ed25519` would write it. */
export function freshPublicKey(comment = 'sample') {
  const field = (bytes: Uint8Array) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const blob = Buffer.concat([field(Buffer.from('ssh-ed25519')), field(randomBytes(32))]);
  return `ssh-ed25519 ${blob.toString('base64')} ${comment}`;
}

/** Makes a fresh target for the operation; answers what fills the braces of its path. */
export async function sampleAddress(operation: Operation, owner: Person): Promise<Address> {
  return operation.on ? sampleEntity(operation.on, owner) : {};
}

export async function sampleEntity({ name }: Entity, owner: Person): Promise<Address> {
  const sample = sampleOf[name];
  if (!sample) throw new Error(`Say in test-samples.ts how to make a sample ${name}.`);
  return sample(owner);
}

export const fill = (path: string, address: Address) =>
  path.replaceAll(/{(\w+)}/g, (_, name: string) => encodeURIComponent(address[name] ?? 'absent'));
