/** Git over SSH: `<project>@git.<domain>:<project>.git`, with a key that its owner has put here or a certificate of this installation. */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { hostKeyLine, newHostKey, openSshPrivateKey } from '../../drivers/ssh/host-key.ts';
import { publicKeyLine, readPublicKey } from '../../drivers/ssh/public-key.ts';
import { openSshServer, refuse, type Command, type OfferedKey } from '../../drivers/ssh/ssh-server.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { proofOfCertificate, type Credential } from '../sign-in/room.ts';
import { admit, converse } from './converse.ts';
import { sshKeyByLine } from './queries.ts';

const noShell = 'There is no shell here: this is where Git fetches and pushes. SSH access to containers comes with environments that run.';
const noWait = 'PLATFORMSH_PUSH_NO_WAIT';
const gitProtocol = 'GIT_PROTOCOL';

export async function serveGitOverSsh(platform: Platform, { host, sshPort }: { host: string; sshPort: number }) {
  const key = await hostKeyOf(platform);
  const server = await openSshServer<Credential>({
    host,
    port: sshPort,
    hostKeys: [openSshPrivateKey(key)],
    log: platform.log,
    variables: [gitProtocol, noWait],
    identify: (offered) => identify(platform, offered),
    run: (command) => void run(platform, command),
    noShell,
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new Error(`Port ${sshPort} for SSH is in use; stop the other program, or set OFFSHOOT_SSH_PORT to another port.`)
      : error;
  });
  return { ...server, hostKey: hostKeyLine(key) };
}

const keyName = 'ssh-host';
const purpose = `installation_keys ${keyName}`;

/** One for the whole installation, made when it is first needed: all its processes answer with the same. */
async function hostKeyOf({ db, secrets }: Platform): Promise<KeyObject> {
  const fresh = secrets.seal(purpose, newHostKey().export({ type: 'pkcs8', format: 'pem' }).toString());
  await db
    .insertInto('installation_keys')
    .values({ name: keyName, sealed: fresh })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { sealed } = await db.selectFrom('installation_keys').select('sealed').where('name', '=', keyName).executeTakeFirstOrThrow();
  return createPrivateKey(secrets.open(purpose, sealed));
}

/** Whether it is still honoured is asked again for each command. */
async function identify(platform: Platform, { user, blob }: OfferedKey): Promise<{ who: Credential; key: KeyObject } | undefined> {
  const certified = proofOfCertificate(blob, platform.keys.sshAuthority);
  if (certified) return honoured(platform, { certified: certified.proof }, certified.key, user);
  const plain = readPublicKey(blob);
  const known = plain && (await sshKeyByLine(platform.db, publicKeyLine({ type: plain.type, blob })));
  return known && honoured(platform, { sshKey: known.key_id }, plain.key, user);
}

const honoured = async (platform: Platform, who: Credential, key: KeyObject, user: string) =>
  (await platform.callerBy(who, user)) ? { who, key } : undefined;

const commandPattern = /^git[ -](upload-pack|receive-pack) '?\/?([a-z0-9]{1,64})(?:\.git)?\/?'?$/;

async function run(platform: Platform, { who, user, line, variables, channel }: Command<Credential>) {
  try {
    const [, service, projectId = ''] = commandPattern.exec(line) ?? [];
    if (service !== 'upload-pack' && service !== 'receive-pack') return refuse(channel, noShell);
    if (/^[a-z0-9]+$/.test(user) && user !== 'git' && user !== projectId)
      return refuse(channel, `You came as ${user}, but asked for ${projectId}; use ${projectId}@ in front of the host.`);
    const callerNow = () => platform.callerBy(who, projectId);
    const caller = await callerNow();
    if (!caller) return refuse(channel, 'Your key is no longer accepted.');
    const project = await admit(platform, caller, projectId, service);
    const isWaiting = !variables.has(noWait) || variables.get(noWait) === '0';
    const protocol = variables.get(gitProtocol);
    const talk = await converse(platform, { caller, callerNow }, project, { service, part: 'whole', protocol, isWaiting });
    channel.once('close', () => talk.leave());
    channel.pipe(talk.stdin);
    talk.stdout.pipe(channel, { end: false });
    talk.stderr.pipe(channel.stderr, { end: false });
    channel.exit(await talk.ended);
    channel.end();
  } catch (error) {
    if (!(error instanceof Problem)) platform.log.error({ err: error, address: user }, 'a command over SSH failed');
    refuse(
      channel,
      error instanceof Problem ? error.message : 'Something went wrong on our side; try again, and tell the operator if it stays so.',
    );
  }
}
