/** The life of a ticket: what people who ask and those who help can do with it in each state. A closed ticket stays closed; another one can follow it up. */
import { lifeCycle, type EventOf, type StateOf } from '../../kernel/life-cycle.ts';

const closed = 'This ticket is closed; open another one that follows it up (followup_tid).';

export const ticketLife = lifeCycle(['new', 'open', 'pending', 'hold', 'solved', 'closed', 'deleted'], {
  /* What is said about it: support answers, and then waits for those who asked. */
  answer: {
    new: 'pending',
    open: 'pending',
    pending: 'pending',
    hold: 'pending',
    solved: 'pending',
    closed: null,
    deleted: null,
    otherwise: closed,
  },
  reply: { new: 'new', open: 'open', pending: 'open', hold: 'open', solved: 'open', closed: null, deleted: null, otherwise: closed },

  /* What its status is set to. */
  reopen: { new: 'open', open: 'open', pending: 'open', hold: 'open', solved: 'open', closed: null, deleted: null, otherwise: closed },
  await: {
    new: 'pending',
    open: 'pending',
    pending: 'pending',
    hold: 'pending',
    solved: 'pending',
    closed: null,
    deleted: null,
    otherwise: closed,
  },
  hold: { new: 'hold', open: 'hold', pending: 'hold', hold: 'hold', solved: 'hold', closed: null, deleted: null, otherwise: closed },
  solve: {
    new: 'solved',
    open: 'solved',
    pending: 'solved',
    hold: 'solved',
    solved: 'solved',
    closed: null,
    deleted: null,
    otherwise: closed,
  },
  close: {
    new: 'closed',
    open: 'closed',
    pending: 'closed',
    hold: 'closed',
    solved: 'closed',
    closed: 'closed',
    deleted: null,
    otherwise: closed,
  },

  /** Whether more can be done with it at all. */
  change: { new: 'new', open: 'open', pending: 'pending', hold: 'hold', solved: 'solved', closed: null, deleted: null, otherwise: closed },
  /** Those that wait for somebody. */
  remain: { new: 'new', open: 'open', pending: 'pending', hold: 'hold', solved: null, closed: null, deleted: null },
});

export type TicketStatus = StateOf<typeof ticketLife>;
export type TicketEvent = EventOf<typeof ticketLife>;

/** By which event a ticket gets a status that somebody asks for. The first two are for the people on it, all of them for operators. */
export const eventFor = { open: 'reopen', solved: 'solve', pending: 'await', hold: 'hold', closed: 'close' } as const;
export type AskedStatus = keyof typeof eventFor;
export const statusesOfPeople: readonly string[] = ['open', 'solved'];
