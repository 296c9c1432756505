/** What the SSH entrance may use of Git. */
export { pushBytesMax } from './serve-git.ts';
export { gitVariables, receiveGit } from './ssh.ts';
