/** What the door for SSH may use of Git. */
export { pushBytesMax } from './serve-git.ts';
export { gitVariables, receiveGit } from './ssh.ts';
