/** What other rooms may use of account security. */
/** For rooms that change passwords. */
export { tellPasswordChanged } from './messages.ts';
