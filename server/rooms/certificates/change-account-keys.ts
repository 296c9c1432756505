/**
 * Other keys for the accounts at authorities, for an operator who has reason to think that a backup or the database was seen by others. The next key is written
 * down before the authority hears of it, and the old one is kept until the authority has answered: whoever is killed in between leaves an account that is found again.
 */
import type { Platform } from '../../platform.ts';
import { Problem } from '../../kernel/problem.ts';
import { withoutReconciler } from '../../kernel/reconciler.ts';
import { openAcme } from './issuers.ts';
import { obtainCertificates } from './reconcilers.ts';

export interface ChangedKey {
  /** The directory of the authority. */
  directory: string;
  /** The project whose account it is; empty where it is the installation's. */
  owner: string;
  /** Why the account still has its old key; undefined where it has another one now. */
  trouble?: string;
}

/** Of all accounts that there are, one after the other. An authority that refuses is not in the way of the others. */
export async function changeAccountKeys(platform: Pick<Platform, 'db' | 'secrets' | 'config'>): Promise<ChangedKey[]> {
  const changed: ChangedKey[] = [];
  const { db } = platform;
  const accounts = await db
    .selectFrom('acme_accounts')
    .select(['owner', 'directory_url'])
    .orderBy('owner')
    .orderBy('directory_url')
    .execute();
  for (const { owner, directory_url: directory } of accounts) {
    // Only one at a time uses an account.
    await withoutReconciler(db, obtainCertificates, async () => {
      const trouble = await troubleWith(openAcme(platform, { owner, issued_by: directory }).then((issuer) => issuer.changeAccountKey()));
      changed.push({ directory, owner, ...(trouble !== undefined && { trouble }) });
    });
  }
  return changed;
}

async function troubleWith(work: Promise<void>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.message;
  }
}
