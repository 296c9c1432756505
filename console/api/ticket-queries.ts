/** What is asked of the API about tickets. Nothing tells of changes to them, so they are asked for again as long as somebody looks. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { hrefOf, type Link, type Resource } from './link.ts';
import { request } from './request.ts';

export interface Ticket extends Resource {
  ticket_id: number;
  created: string;
  updated: string;
  subject: string;
  description: string;
  priority: string;
  status: string;
  category: string;
  requester_id: string;
  organization_id?: string;
  project_url?: string;
  affected_url?: string;
  followup_tid?: string;
}

export interface Comment {
  id: number;
  author_id: string | null;
  /** Whether support said it. */
  is_answer: boolean;
  text: string;
  created: string;
}

export interface Attachment {
  id: number;
  filename: string;
  size: number;
  comment_id: number | null;
}

interface TicketsPage extends Resource {
  tickets: readonly Ticket[];
}

const lookedAtMilliseconds = 30_000;
const listedMax = 30;

/** `link` is that of the person, or of an organization: then only what is about it is listed. */
export const ticketsQuery = (link: Link) =>
  infiniteQueryOptions({
    queryKey: ['tickets', { href: link.href }],
    queryFn: ({ signal, pageParam }) => request<TicketsPage>('GET', pageParam, undefined, signal),
    initialPageParam: `${link.href}${link.href.includes('?') ? '&' : '?'}sort=-updated&page[size]=${listedMax}`,
    getNextPageParam: (page) => hrefOf(page, 'next'),
    refetchInterval: lookedAtMilliseconds,
  });

export const ticketQuery = (id: string) =>
  queryOptions({
    queryKey: ['tickets', id],
    queryFn: ({ signal }) => request<Ticket>('GET', `/tickets/${encodeURIComponent(id)}`, undefined, signal),
    refetchInterval: lookedAtMilliseconds,
  });

/** What was said, with the files that came with it. */
export const conversationQuery = (ticket: Ticket) =>
  queryOptions({
    queryKey: ['tickets', String(ticket.ticket_id), 'conversation'],
    queryFn: async ({ signal }) => {
      const [{ comments }, { attachments }] = await Promise.all([
        request<{ comments: readonly Comment[] }>('GET', hrefOf(ticket, 'comments') ?? '', undefined, signal),
        request<{ attachments: readonly Attachment[] }>('GET', hrefOf(ticket, 'attachments') ?? '', undefined, signal),
      ]);
      return { comments, attachments };
    },
    refetchInterval: lookedAtMilliseconds,
  });

interface Choice {
  id: string;
  label: string;
  short_description?: string;
}

/** What a ticket can be about, or how urgent it can be, in the API's words. */
export const choicesQuery = (kind: 'category' | 'priority') =>
  queryOptions({
    queryKey: ['ticket-choices', kind],
    queryFn: ({ signal }) => request<readonly Choice[]>('GET', `/tickets/${kind}`, undefined, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const attachmentContent = (ticket: Ticket, { id }: Attachment) =>
  request<{ data: string }>('GET', `${hrefOf(ticket, 'attachments')}/${id}`);
