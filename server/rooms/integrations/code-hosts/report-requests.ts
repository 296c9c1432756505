/** The pull request that an environment is made for, as far as it is reported on. */
import { isApproved } from '../../../drivers/code-hosts/plan-mirror.ts';
import type { Db } from '../../../kernel/sql.ts';
import type { Integration } from '../integration.ts';
import { rulesOf } from './mirror-plan.ts';
import { pullRequestsOf } from './mirror.ts';

export interface ReportedRequest {
  number: number;
  /** The commit at its head; null where it is not open any more. */
  commit: string | null;
  /** A commit of a fork that somebody has to approve before it is built. */
  waitsFor: string | undefined;
}

const requestPattern = /^pr-(\d{1,9})$/;

/** Undefined where the environment is of none. */
export async function requestOf(db: Db, integration: Integration, environment: string): Promise<ReportedRequest | undefined> {
  const [, digits] = environment.match(requestPattern) ?? [];
  if (digits === undefined) return undefined;
  const number = Number(digits);
  const [found] = await pullRequestsOf(db, integration.id, number);
  if (!found) return { number, commit: null, waitsFor: undefined };
  const { commit, isFromFork, isDraft } = found.details;
  const { buildPullRequests, buildDrafts } = rulesOf(integration, '');
  const isBuilt = buildPullRequests && (buildDrafts || !isDraft);
  return { number, commit, waitsFor: isFromFork && isBuilt && !isApproved(found.approved_commit, commit) ? commit : undefined };
}
