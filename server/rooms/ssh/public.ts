/** What the composition root and commands may use of the door for SSH. */
export { serveSsh, sshHostKeyLine } from './serve-ssh.ts';
export { endSession, openSessions, type SshSession } from './queries.ts';
