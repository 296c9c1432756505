/** What other rooms may use of account security. */
/** For whoever changes a password. */
export { tellPasswordChanged } from './messages.ts';
