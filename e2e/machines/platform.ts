/** The platform on a machine: the program of this checkout, installed as a service as anybody would do it, and reached from here. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { exchange } from '../api.ts';
import { repository } from '../installation.ts';
import { type Person, personWith } from '../open-project.ts';
import type { Machine } from './machine.ts';
import { patiently } from './patiently.ts';
import { imagesAt, programAt } from './supplies-disk.ts';

const readySecondsMax = 1200;
const programBytesMax = 2 ** 28;
const journalLines = 200;

export interface MachinePlatform extends Person {
  /** After a boot it starts by itself. */
  untilReady(): Promise<void>;
}

/** `./offshoot install`, in a checkout. */
export async function installPlatform(machine: Machine): Promise<MachinePlatform> {
  const { api, edge, ssh } = machine.ports;
  const url = `http://127.0.0.1:${api}`;
  const apiToken = randomBytes(24).toString('base64url');
  await machine.run(`tar -xf - -C ${programAt}`, await checkout());
  const settings = {
    OFFSHOOT_HOST: '0.0.0.0',
    OFFSHOOT_PORT: api,
    OFFSHOOT_HTTP_PORT: edge,
    OFFSHOOT_SSH_PORT: ssh,
    OFFSHOOT_URL: url,
    OFFSHOOT_IMAGES: imagesAt,
    OFFSHOOT_IMAGES_AHEAD: 'none',
    OFFSHOOT_IMAGE_UPDATE_DAYS: 0,
    OFFSHOOT_ADMIN_API_TOKEN: apiToken,
  };
  const given = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  await machine.run(`${given.join(' ')} ${programAt}/offshoot install`);
  await untilReady(url, apiToken);
  return { ...personWith(url, apiToken), untilReady: () => untilReady(url, apiToken) };
}

/** What is or could be committed, as it lies there. */
async function checkout(): Promise<Buffer> {
  const script = 'git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -cf -';
  const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: repository, encoding: 'buffer', maxBuffer: programBytesMax });
  return stdout;
}

async function untilReady(url: string, apiToken: string) {
  const answers = async () => (await exchange(url, apiToken).catch(() => undefined))?.status === 200;
  await patiently('the platform on the machine answers', answers, readySecondsMax);
}

/** What the platform said last, for people. */
export const journalOf = async (machine: Machine): Promise<string> =>
  (await machine.attempt(`journalctl --unit offshoot --lines ${journalLines} --no-pager --output cat`)).stdout;
