/** One webhook for each address, on hosts that list, create, update and remove them. */
import type { Webhook } from './code-host.ts';
import { isFailure } from './code-host-failure.ts';

export interface Webhooks {
  list(): Promise<{ id: string; url: string }[]>;
  create(webhook: Webhook): Promise<void>;
  update(id: string, webhook: Webhook): Promise<void>;
  remove(id: string): Promise<void>;
}

/**
 * Hosts never show the secret, so a webhook that is there is told it again. Two who register at once, such as a person who validates a new integration and the platform itself, both find none:
 * so whoever made one looks again, and of several all keep the same.
 */
export async function ensureOneWebhook(webhooks: Webhooks, wanted: Webhook): Promise<void> {
  const [kept, ...surplus] = await withAddress(webhooks, wanted.url);
  if (kept) await webhooks.update(kept.id, wanted);
  else await webhooks.create(wanted);
  const [, ...others] = kept ? [kept, ...surplus] : await withAddress(webhooks, wanted.url);
  for (const { id } of others) await removeIfThere(webhooks, id);
}

export async function removeEveryWebhook(webhooks: Webhooks, url: string): Promise<void> {
  for (const { id } of await withAddress(webhooks, url)) await removeIfThere(webhooks, id);
}

/** In an order that is the same for everybody. */
const withAddress = async (webhooks: Webhooks, url: string) =>
  (await webhooks.list())
    .filter((webhook) => webhook.url === url)
    .toSorted((one, other) => one.id.localeCompare(other.id, 'en', { numeric: true }));

async function removeIfThere(webhooks: Webhooks, id: string): Promise<void> {
  await webhooks.remove(id).catch((thrown: unknown) => {
    if (!isFailure(thrown, 'missing')) throw thrown;
  });
}
