/** What others have done about invitations: accept one, by the secret that was mailed. */
export { acceptInvitation } from './accept.ts';
