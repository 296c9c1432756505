/**
 * Integrations come, change and go with the request itself. A code host is asked before whether it agrees, and told afterwards where to call us; nobody waits
 * for that.
 */
import { shortId } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Outside } from '../../kernel/operation.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { hastenIntegration } from '../deliveries/public.ts';
import { askAgain, forgetRepository } from './code-hosts/mirror.ts';
import { recordRegistration, recordRemoval } from './code-hosts/register-webhook.ts';
import { fetchAtOnce } from './code-hosts/sync-code-hosts.ts';
import { asksOtherwise, isElsewhere, learnFromHost } from './code-hosts/validate.ts';
import { changedValues, newValues } from './given-values.ts';
import { opened, shownTo, type Integration } from './integration.ts';
import { deleteIntegration, insertIntegration, integrationsOf, takeIntegrations, updateIntegration } from './queries.ts';
import { valueColumns } from './stored-integration.ts';
import type { Given } from './types/types.ts';

type Hands = Pick<Platform, 'db' | 'secrets' | 'config' | 'outbound' | 'hostTokens'>;

/** Lists carry all of them. */
const integrationsMax = 100;

export async function addIntegration(
  hands: Hands,
  caller: Caller,
  projectId: string,
  given: Given,
  outside: Outside,
): Promise<Integration> {
  const { db, secrets } = hands;
  const [id, { type }, said] = [shortId(), given, newValues(given)];
  const values = { ...said, ...(await outside(() => learnFromHost(hands, { type, values: said }))) };
  return db.transaction().execute(async (tx) => {
    await takeIntegrations(tx, projectId);
    if ((await integrationsOf(tx, projectId)).length >= integrationsMax)
      throw new Problem('conflict', `A project has at most ${integrationsMax} integrations; delete one that is not needed any more.`);
    const hears_activities = 'events' in values;
    await insertIntegration(tx, { id, project_id: projectId, type, hears_activities, ...valueColumns(secrets, id, type, values) });
    const added = await current({ tx, secrets }, projectId, id);
    await recordRegistration(tx, hands, added);
    await fetchAtOnce(tx, added);
    return shownTo(caller, added);
  });
}

/** What was sent is read against what is stored at that moment, so that of two changes at once neither undoes the other. */
export async function changeIntegration(
  hands: Hands,
  caller: Caller,
  seen: Integration,
  givenFor: (stored: Integration) => Given,
  outside: Outside,
): Promise<Integration> {
  const { db, secrets } = hands;
  const { project_id, id, type } = seen;
  const wanted = changedValues(seen, givenFor(seen));
  const asksAnew = asksOtherwise(type, seen.values, wanted);
  const learned = asksAnew ? await outside(() => learnFromHost(hands, { type, values: wanted })) : {};
  return db.transaction().execute(async (tx) => {
    await takeIntegrations(tx, project_id);
    const stored = await current({ tx, secrets }, project_id, id);
    const values = { ...changedValues(stored, givenFor(stored)), ...learned };
    await updateIntegration(tx, id, valueColumns(secrets, id, type, values));
    // What waits for a receiver that was away may be taken now.
    await hastenIntegration(tx, id);
    const changed = await current({ tx, secrets }, project_id, id);
    if (asksOtherwise(type, stored.values, values)) await askAgain(tx, id);
    if (isElsewhere(type, stored.values, values)) {
      await forgetRepository(tx, id);
      await fetchAtOnce(tx, changed);
    }
    if (asksOtherwise(type, stored.values, values)) await recordRegistration(tx, hands, changed, stored);
    return shownTo(caller, changed);
  });
}

export const removeIntegration = (hands: Hands, { project_id, id }: Integration): Promise<void> =>
  hands.db.transaction().execute(async (tx) => {
    await takeIntegrations(tx, project_id);
    const stored = await current({ tx, ...hands }, project_id, id);
    await deleteIntegration(tx, id);
    await recordRemoval(tx, hands, stored);
  });

async function current({ tx, secrets }: { tx: Tx } & Pick<Hands, 'secrets'>, projectId: string, id: string): Promise<Integration> {
  const [row] = await integrationsOf(tx, projectId, id);
  if (!row) throw gone();
  return opened(secrets, row);
}

/** Somebody else deleted it a moment before. */
const gone = () => new Problem('not-found', 'No such integration.');
