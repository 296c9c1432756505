/** What the operator at the machine may have done with tickets. */
export { closeTicket, commentsMax, sayAbout } from './answer-ticket.ts';
export { attachmentsOf, commentsOf, remainingTickets, ticketById, type TicketRow } from './queries.ts';
