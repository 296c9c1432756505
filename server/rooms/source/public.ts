/** What the door for SSH may use of Git. */
export { pushBytesMax } from './converse.ts';
export { gitVariables, receiveGit } from './ssh.ts';
