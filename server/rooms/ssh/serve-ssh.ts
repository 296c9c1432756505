/**
 * The one door for SSH, with a key that its owner has put here or a certificate of this installation. The name under which somebody comes says where to:
 * `<project>-<environment>--<app>` into a running app, anything else to Git.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { Credential } from '../../identity.ts';
import { hostKeyLine, newHostKey, openSshPrivateKey } from '../../drivers/ssh/host-key.ts';
import { publicKeyLine, readPublicKey } from '../../drivers/ssh/public-key.ts';
import { openSshServer, type OfferedKey } from '../../drivers/ssh/ssh-server.ts';
import type { Platform } from '../../platform.ts';
import { readSshName } from '../environments/public.ts';
import { proofOfCertificate } from '../sign-in/public.ts';
import { gitVariables, receiveGit } from '../source/public.ts';
import { openGateway } from './gateway.ts';
import { sshKeyByLine } from './queries.ts';

export async function serveSsh(platform: Platform, { host, sshPort }: { host: string; sshPort: number }) {
  const key = await hostKeyOf(platform);
  const gateway = openGateway(platform);
  const server = await openSshServer<Credential>({
    host,
    port: sshPort,
    hostKeys: [openSshPrivateKey(key)],
    log: platform.log,
    variables: gitVariables,
    identify: (offered) => identify(platform, offered),
    receive: (visitor) => (visitor.user.includes('--') ? gateway.receive(visitor) : receiveGit(platform, visitor)),
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new Error(`Port ${sshPort} for SSH is in use; stop the other program, or set OFFSHOOT_SSH_PORT to another port.`)
      : error;
  });
  const close = async () => {
    await gateway.close();
    await server.close();
  };
  return { port: server.port, close, hostKey: hostKeyLine(key) };
}

const keyName = 'ssh-host';
const purpose = `installation_keys ${keyName}`;

/** The host key, one for the whole installation: it is made when it is first needed, and all processes answer with it. */
async function hostKeyOf({ db, secrets }: Pick<Platform, 'db' | 'secrets'>): Promise<KeyObject> {
  const fresh = secrets.seal(purpose, newHostKey().export({ type: 'pkcs8', format: 'pem' }).toString());
  await db
    .insertInto('installation_keys')
    .values({ name: keyName, sealed: fresh })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { sealed } = await db.selectFrom('installation_keys').select('sealed').where('name', '=', keyName).executeTakeFirstOrThrow();
  return createPrivateKey(secrets.open(purpose, sealed));
}

/** The host key as clients keep it in their lists of known hosts. */
export const sshHostKeyLine = async (platform: Pick<Platform, 'db' | 'secrets'>): Promise<string> => hostKeyLine(await hostKeyOf(platform));

/** Finds whose key this is. Whether it still lets them in is asked again for each request. */
async function identify(platform: Platform, { user, blob }: OfferedKey): Promise<{ who: Credential; key: KeyObject } | undefined> {
  const project = readSshName(user)?.projectId ?? user;
  const certified = proofOfCertificate(blob, platform.keys.sshAuthority);
  if (certified) return honoured(platform, { certified: certified.proof }, certified.key, project);
  const plain = readPublicKey(blob);
  const known = plain && (await sshKeyByLine(platform.db, publicKeyLine({ type: plain.type, blob })));
  return known && honoured(platform, { sshKey: known.key_id }, plain.key, project);
}

const honoured = async (platform: Platform, who: Credential, key: KeyObject, project: string) =>
  (await platform.callerBy(who, project)) ? { who, key } : undefined;
