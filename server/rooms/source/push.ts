/**
 * What a push sets off. Before anything moves it is announced, which may refuse it; when branches have moved it is recorded, and the person who
 * pushed is shown how the activities go. They may stop looking: what was recorded goes on.
 */
import type { Pushed, PushHooks, RefUpdate } from '../../drivers/git/git.ts';
import type { Activity } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import { isBranchName, refuseMirroredRefs, type BranchUpdate } from '../environments/public.ts';
import { announcePush, recordPush } from '../environments/work.ts';
import type { Project } from '../projects/public.ts';
import { visibilityFor } from './visibility.ts';

export interface PushConversation {
  /** The pusher and the project as they are now; throws a Problem when they may not push any more. */
  admitAgain(): Promise<{ caller: Caller; project: Project }>;
  projectId: string;
  /** Whether to show the activities to the end. */
  isWaiting: boolean;
  /** Aborted when nobody is watching any more. */
  gone: AbortSignal;
}

export function pushHooks(platform: Platform, { admitAgain, projectId, isWaiting, gone }: PushConversation): PushHooks {
  let announced: string | undefined;
  let isFollowed = isWaiting;
  const record = async (moved?: readonly string[]) => {
    const id = announced;
    announced = undefined;
    return id === undefined ? [] : recordPush(platform, id, moved);
  };
  return {
    async before(updates, options, pushed) {
      const { caller, project } = await admitAgain();
      await refuseMirroredRefs(
        platform.db,
        project.id,
        updates.map(({ ref }) => ref),
      );
      const branches = updates.filter(({ ref }) => !isTag(ref)).map(branchUpdate);
      for (const tag of updates.filter(({ ref }) => isTag(ref))) refuseTag(tag, caller, project);
      await refuseHidden(platform, caller, project, pushed);
      if (options.includes(noWait)) isFollowed = false;
      if (branches.length === 0) return [];
      const others = options.filter((option) => option !== noWait);
      const { id, warnings } = await announcePush(platform, caller, project, branches, others).catch((error: unknown) => {
        if (!(error instanceof Problem)) platform.log.error({ err: error, project: project.id }, 'a push could not be announced');
        throw error;
      });
      announced = id;
      return warnings.map((warning) => `W: ${warning}`);
    },
    async *after(updates) {
      const moved = updates.filter(({ ref }) => ref.startsWith(headsPrefix)).map(({ ref }) => ref.slice(headsPrefix.length));
      const activities = await record(moved);
      for (const activity of activities)
        yield* isFollowed ? shown(platform, activity, gone) : [`Started activity ${activity.id}: ${activity.text ?? activity.type}`];
    },
    /** If Git was stopped after branches had moved and before the push was recorded, the repository itself tells what has moved. */
    async ended() {
      await record().catch((error: unknown) =>
        platform.log.error({ err: error, project: projectId }, 'a push could not be recorded, and is left to be recorded later'),
      );
      platform.git.tidy(projectId);
    },
  };
}

/** `git push -o no-wait` is for people who cannot send an environment variable along, as over HTTP. */
const noWait = 'no-wait';
const headsPrefix = 'refs/heads/';
const tagsPrefix = 'refs/tags/';
const isTag = (ref: string) => ref.startsWith(tagsPrefix);

function branchUpdate({ ref, from, to, isFastForward }: RefUpdate): BranchUpdate {
  const branch = ref.startsWith(headsPrefix) ? ref.slice(headsPrefix.length) : '';
  if (branch === '') throw new Problem('invalid-request', `Only branches and tags can be pushed; ${JSON.stringify(ref)} is neither.`);
  if (!isBranchName(branch))
    throw new Problem('invalid-request', `${JSON.stringify(branch)} cannot be the name of an environment; choose another.`);
  return { branch, from, to, isFastForward };
}

/** Tags are stored and shown, and start no activity. Only administrators may change or delete an existing tag, because others rely on it. */
function refuseTag({ ref, from }: RefUpdate, caller: Caller, project: Project) {
  if (!isBranchName(ref.slice(tagsPrefix.length)))
    throw new Problem('invalid-request', `${JSON.stringify(ref)} cannot be the name of a tag; choose another.`);
  if (from !== undefined && !caller.can('project:admin', { project: project.id, organization: project.organization_id }))
    throw new Problem(
      'forbidden',
      `The tag ${ref.slice(tagsPrefix.length)} exists; only administrators of the project change or delete tags.`,
    );
}

/** Refuses refs to commits that the pusher may not see, because such a ref would make them visible. */
async function refuseHidden(platform: Platform, caller: Caller, project: Project, pushed: Pushed) {
  const visibility = await visibilityFor(platform, caller, project);
  if (visibility.isWhole) return;
  const branches = await platform.git.branches(project.id);
  const shown = visibility.visible.map((branch) => branches.get(branch)).filter((sha) => sha !== undefined);
  if (await pushed.isOwnOr([...new Set(shown)])) return;
  throw new Problem(
    'forbidden',
    'You are pushing commits or files that are in this repository, but not on a branch that you may see; push only what you have fetched or made yourself.',
  );
}

async function* shown({ logs }: Platform, { id, text, type }: Activity, gone: AbortSignal): AsyncGenerator<string> {
  yield `Processing activity ${id}: ${text ?? type}`;
  for await (const rows of logs.follow(id, gone)) for (const { message } of rows ?? []) yield `  ${message.replace(/\n$/, '')}`;
}
