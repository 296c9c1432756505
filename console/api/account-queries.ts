/** What is asked of the API about a person's own account, beyond who they are. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { request } from './request.ts';
import type { User } from './resources.ts';

export interface SignIn extends Resource {
  id: string;
  program: string;
  user_agent: string;
  address: string;
  is_current: boolean;
  created_at: string;
  last_used_at: string;
}

export interface SshKey extends Resource {
  key_id: number;
  title: string;
  fingerprint: string;
  changed: string;
}

/** Another identity provider through which a person can sign in. */
export interface Connection extends Resource {
  provider: string;
  subject: string;
  email_address: string;
  created_at: string;
}

const listOf = <T>(me: User, rel: string) =>
  queryOptions({
    queryKey: ['me', rel],
    queryFn: ({ signal }) => request<readonly T[]>('GET', hrefOf(me, rel) ?? '', undefined, signal),
  });

export const signInsQuery = (me: User) => listOf<SignIn>(me, 'sign-ins');
export const sshKeysQuery = (me: User) => listOf<SshKey>(me, 'ssh-keys');
export const connectionsQuery = (me: User) => listOf<Connection>(me, 'connections');
