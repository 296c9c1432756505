/** The door for SSH, and what is behind it: Git, and running apps. It has no operations in the API; `./offshoot sessions` lists who is inside. */
export { serveSsh, sshHostKeyLine } from './door.ts';
export { openSessions, type SshSession } from './queries.ts';
