/** Requests for help. */
import type { Person } from '../platform.ts';

/** A ticket with a file. */
export async function sampleTicket(owner: Person) {
  const attachments = [{ filename: 'trace.txt', data: 'aGVsbG8=' }];
  const { json } = await owner.send('POST', '/tickets', { subject: 'Sample', description: 'It is slow.', attachments });
  const ticket_id = String(json.ticket_id);
  const { json: attached } = await owner.send('GET', `/tickets/${ticket_id}/attachments`);
  return { ticket_id, attachment_id: String(attached.attachments[0].id) };
}
