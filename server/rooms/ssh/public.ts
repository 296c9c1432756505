/** What the composition root and commands may use of the door for SSH. */
export { serveSsh, sshHostKeyLine } from './door.ts';
export { openSessions, type SshSession } from './queries.ts';
