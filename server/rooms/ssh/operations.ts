/** Terminals in browsers: an addition of ours to the published API. Who may get in, and how often, is what SSH says. */
import { Type } from 'typebox';
import { operation, plain } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { closed, Time } from '../../kernel/schema.ts';
import { EnvironmentEntity, mayEnter, sshNameOf } from '../environments/public.ts';
import { environmentLife } from '../environments/life-cycle.ts';
import { admit } from './admission.ts';
import { proofOf } from './terminal-proof.ts';
import { terminalPath } from './serve-terminals.ts';
import { issueTicket } from './terminal-tickets.ts';

const nothingToEnter = new Problem(
  'forbidden',
  'There is nothing here that you may get into: an app has to run, and its configuration has to let you in.',
);

export const openTerminal = operation({
  summary: 'Get a ticket for a terminal in what runs, which a browser then opens as a WebSocket',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/terminals',
  on: EnvironmentEntity,
  rel: '#terminal',
  permission: 'environment:view',
  allowedWhen: (environment, caller) => environmentLife.possible(environment.status, 'enter') && mayEnter(environment, caller),
  otherwise: nothingToEnter,
  body: closed({
    destination: Type.String({
      maxLength: 200,
      description: 'An app such as `app`, a worker as `app--queue`, and one instance with its number at the end: `app--1`.',
    }),
  }),
  example: { destination: 'shop' },
  returns: plain(
    closed({
      ticket: Type.String({
        description: 'Lets in once, within seconds, as a subprotocol of the WebSocket: `ticket.<it>`, beside `offshoot.terminal`.',
      }),
      path: Type.String({ description: 'Where the WebSocket is opened, on this platform and by its own pages only.' }),
      expires_at: Time,
    }),
    201,
  ),
  handle: async ({ caller, target, body }, platform) => {
    const destination = sshNameOf(target, body.destination);
    // Whoever may not get in is told now, and not by a WebSocket that does not open.
    await admit(platform, { certified: proofOf(caller) }, destination);
    return { ...(await issueTicket(platform.db, caller, destination)), path: terminalPath };
  },
});
