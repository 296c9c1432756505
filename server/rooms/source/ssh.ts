/** Git over SSH: `<project>@git.<domain>:<project>.git`. */
import type { Credential } from '../../identity.ts';
import type { Asked, Guest, Visitor } from '../../drivers/ssh/ssh-server.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { admit, serveGit } from './serve-git.ts';

const noShell =
  'There is no shell here: this host is only for git fetch and git push. To open a shell in a running app, use the address that the environment shows under pf:ssh.';
const noWait = 'PLATFORMSH_PUSH_NO_WAIT';
const gitProtocol = 'GIT_PROTOCOL';
const idleSecondsMax = 60;

/** The environment variables that a client may send along. */
export const gitVariables = [gitProtocol, noWait];

export const receiveGit = (platform: Platform, visitor: Visitor<Credential>): Guest => ({
  idleSecondsMax,
  run: (asked) => void run(platform, visitor, asked),
});

const commandPattern = /^git[ -](upload-pack|receive-pack) '?\/?([a-z0-9]{1,64})(?:\.git)?\/?'?$/;

async function run(platform: Platform, { who, user }: Visitor<Credential>, { want, variables, line }: Asked) {
  try {
    const [, service, projectId = ''] = (want.kind === 'command' && commandPattern.exec(want.line)) || [];
    if (service !== 'upload-pack' && service !== 'receive-pack') return line.refuse(noShell);
    if (/^[a-z0-9]+$/.test(user) && user !== 'git' && user !== projectId)
      return line.refuse(`You connected as ${user}, but asked for the repository of ${projectId}; use ${projectId}@ in front of the host.`);
    const callerNow = () => platform.callerBy(who, projectId);
    const caller = await callerNow();
    if (!caller) return line.refuse('Your key is no longer accepted; sign in again, or add the key to your account.');
    const project = await admit(platform, caller, projectId, service);
    const isWaiting = !variables.has(noWait) || variables.get(noWait) === '0';
    const protocol = variables.get(gitProtocol);
    const conversation = await serveGit(platform, { caller, callerNow }, project, { service, part: 'whole', protocol, isWaiting });
    if (line.gone.aborted) conversation.leave();
    else line.gone.addEventListener('abort', () => conversation.leave(), { once: true });
    line.input.pipe(conversation.stdin);
    const [code] = await Promise.all([conversation.ended, line.send(conversation.stdout, conversation.stderr)]);
    line.end(code);
  } catch (error) {
    if (!(error instanceof Problem)) platform.log.error({ err: error, address: user }, 'a command over SSH failed');
    line.refuse(
      error instanceof Problem ? error.message : 'Something went wrong on our side; try again, and tell the operator if it happens again.',
    );
  }
}
