import { Type, type Static } from 'typebox';
import { invalidField, Problem } from '../../kernel/problem.ts';
import { closed, Line, Ulid, Uuid } from '../../kernel/schema.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { organizationAt } from '../organizations/public.ts';
import { countAttempts } from '../sign-in/public.ts';
import { findSubscriptionById } from '../subscriptions/public.ts';
import { displayName, profile as userFields } from '../users/public.ts';
import { attach, Attachments, withAttachments, type KeptFile } from './attachments.ts';
import { categories, categoryDefault, priorityDefault } from './categories.ts';
import { activeAmong, addCollaborators, fellowsAmong, insertTicket, remainingCount, ticketById } from './queries.ts';
import { tellTicket } from './tell-ticket.ts';
import { Category, findTicket, Priority, shownTicket, type Ticket } from './ticket.ts';

const collaboratorsMax = 20;
const remainingMax = 100;

export const Description = Type.String({ minLength: 1, maxLength: 20_000 });
export const CollaboratorIds = Type.Array(Uuid, { maxItems: collaboratorsMax });

export const NewTicket = closed({
  subject: Line(200, { charactersMin: 1 }),
  description: Description,
  requester_id: Type.Optional({ ...Uuid, description: 'Another than oneself only for operators.' }),
  priority: Type.Optional(Priority),
  category: Type.Optional(Category),
  subscription_id: Type.Optional(Type.String({ maxLength: 20 })),
  organization_id: Type.Optional(Ulid),
  affected_url: Type.Optional(userFields.website),
  followup_tid: Type.Optional(Type.String({ maxLength: 20 })),
  attachments: Attachments,
  collaborator_ids: Type.Optional(CollaboratorIds),
});

export async function openTicket(platform: Platform, caller: Caller, asked: Static<typeof NewTicket>): Promise<Ticket> {
  const { db, config } = platform;
  const { subject, description, priority = priorityDefault, category = categoryDefault, affected_url = '', attachments } = asked;
  const requester_id = await requesterOf(db, caller, asked.requester_id);
  const about = await subjectOf(platform, caller, asked);
  const collaborators = await collaboratorsOf(db, caller, about.organization_id, asked.collaborator_ids ?? []);
  const followup_id = await followedUp(platform, caller, asked.followup_tid);
  if (!caller.user.is_operator) await countAttempts(db, [{ limit: 'mail from user', of: caller.id }]);
  const open = async (tx: Tx, files: readonly KeptFile[]) => {
    if ((await remainingCount(tx, requester_id)) >= remainingMax)
      throw new Problem('conflict', `A user can have ${remainingMax} tickets that are not solved; add to one of them, or solve one.`);
    const { id } = await insertTicket(tx, {
      ...about,
      subject,
      description,
      priority,
      category,
      type: categories[category]?.type ?? 'question',
      requester_id,
      submitter_id: caller.id,
      followup_id,
      affected_url,
    });
    await addCollaborators(tx, id, collaborators);
    await attach(tx, id, null, files);
    const row = await ticketById(tx, String(id));
    if (!row) throw new Error('The ticket vanished while it was opened');
    const ticket = shownTicket(row, config, caller.id);
    await tellTicket(tx, platform, ticket, { event: 'opened', by: { id: caller.id, name: displayName(caller.user) }, text: description });
    return ticket;
  };
  return withAttachments(config, attachments, (files) => db.transaction().execute((tx) => open(tx, files)));
}

async function requesterOf(db: Db, caller: Caller, wanted: string | undefined): Promise<string> {
  if (wanted === undefined || wanted === caller.id) return caller.id;
  if (!caller.user.is_operator) throw new Problem('forbidden', 'You can open tickets only for yourself: leave out requester_id.');
  const [requester] = await activeAmong(db, [wanted]);
  if (requester === undefined) throw invalidField('requester_id', 'is not an active user');
  return requester;
}

/** What a ticket is about: an organization, or a project of it, that the caller may see. */
async function subjectOf(platform: Platform, caller: Caller, asked: Static<typeof NewTicket>) {
  const { subscription_id, organization_id } = asked;
  const contract =
    subscription_id === undefined ? undefined : await findSubscriptionById({ subscriptionId: subscription_id }, caller, platform);
  const isSeen = contract && caller.can('contract:view', { organization: contract.organization_id, project: contract.project_id });
  if (subscription_id !== undefined && !isSeen) throw invalidField('subscription_id', 'is not a subscription that you may see');
  const organization = organization_id === undefined ? undefined : await organizationAt(platform.db, organization_id);
  if (organization_id !== undefined && !(organization && caller.can('organization:view', { organization: organization.id })))
    throw invalidField('organization_id', 'is not an organization of yours');
  if (contract && organization && contract.organization_id !== organization.id)
    throw invalidField('organization_id', 'is not the organization of the subscription');
  return { organization_id: contract?.organization_id ?? organization?.id ?? null, project_id: contract?.project_id ?? null };
}

/** Only people of the organization can be let in: a ticket tells of it, and is mailed to them. Operators can let in everybody. */
export async function collaboratorsOf(db: Db, caller: Caller, organizationId: string | null, wanted: readonly string[]): Promise<string[]> {
  const asked = [...new Set(wanted)];
  const found = caller.user.is_operator ? await activeAmong(db, asked) : await fellowsAmong(db, caller.id, organizationId, asked);
  if (found.length < asked.length) throw invalidField('collaborator_ids', 'must name people of your organization');
  return found;
}

async function followedUp(platform: Platform, caller: Caller, id: string | undefined): Promise<number | null> {
  if (id === undefined) return null;
  const ticket = await findTicket({ ticket_id: id }, caller, platform);
  if (!ticket || !(caller.user.is_operator || ticket.viewer !== undefined)) throw invalidField('followup_tid', 'is not a ticket of yours');
  return ticket.ticket_id;
}
