/** Lets a caller talk to a project's repository: the same rules for HTTP and SSH. */
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Conversation, Served } from '../../drivers/git/git.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import { partiesOf, projectById, settingsOf, type Project } from '../projects/public.ts';
import { pushHooks } from './push.ts';
import { hiddenRefs, mayPushSomewhere, mayReadSomething, visibilityFor } from './visibility.ts';

export interface Asked extends Pick<Conversation, 'service' | 'part' | 'protocol'> {
  isWaiting: boolean;
}

/** Returns the project if the caller may fetch from it or push to it, and throws a Problem otherwise, the same one for absent and invisible projects. */
export async function admit(
  { db }: Pick<Platform, 'db'>,
  caller: Caller,
  projectId: string,
  service: Conversation['service'],
): Promise<Project> {
  const project = await projectById(db, projectId);
  const scope = { project: projectId, organization: project?.organization_id ?? '' };
  if (!project || !caller.can('project:view', scope)) throw new Problem('not-found', 'No such project, or you have no access to it.');
  const hindrance = caller.hindrance(scope, 'environment:view');
  if (hindrance) throw new Problem('forbidden', `${hindrance.message} (reason: access requires MFA)`);
  if (!mayReadSomething(caller, project))
    throw new Problem('forbidden', 'You may not view any environment of this project; ask one of its administrators.');
  const suspension = service === 'receive-pack' ? caller.suspension(scope) : undefined;
  if (suspension) throw suspension;
  if (service === 'receive-pack' && !mayPushSomewhere(caller, project))
    throw new Problem('forbidden', 'You may view this project, but not push to it; ask one of its administrators.');
  return project;
}

export interface GitConversation extends Served {
  /** The protocol version that is spoken, which may be older than the one that was asked for. */
  protocol: string | undefined;
  /** To be called when the client is gone. */
  leave(): void;
  /** Stops showing the progress of activities; Git and the activities themselves go on to their end. */
  hurry(): void;
}

export interface GitCaller {
  caller: Caller;
  /** The caller with the rights they have now; undefined when their credential is no longer accepted. */
  callerNow(): Promise<Caller | undefined>;
}

/** Where branches of a code host are put before they are the project's: nobody's to see. */
const mirrored = 'refs/mirror';
const conversationMinutesMax = 60;

export async function serveGit(
  platform: Platform,
  { caller, callerNow }: GitCaller,
  project: Project,
  { service, part, protocol, isWaiting }: Asked,
): Promise<GitConversation> {
  const { git, config } = platform;
  if (!(await git.exists(project.id))) throw new Problem('conflict', 'The project is not ready yet; try again in a moment.');
  const visibility = await visibilityFor(platform, caller, project);
  const gone = new AbortController();
  const isPush = service === 'receive-pack' && part !== 'advertisement';
  /** Protocol version 2 gives out any object by its id, and the older one only what its visible refs reach. So version 2 is for those who see everything. */
  const spoken = visibility.isWhole && service === 'upload-pack' ? protocolOf(protocol) : undefined;
  /** A push may take long, so the rights of the pusher are checked again when it has arrived. */
  const admitAgain = async () => {
    const now = await callerNow();
    if (!now) throw new Problem('unauthenticated', 'Your token or key is no longer accepted; sign in again, and push again.');
    return { caller: now, project: await admit(platform, now, project.id, service) };
  };
  const present = visibility.isWhole ? [] : [...(await git.branches(project.id)).keys()];
  const served = git.serve(project.id, {
    user: caller.id,
    parties: await partiesOf(platform.db, project.id),
    service,
    part,
    protocol: spoken,
    hiddenRefs: [mirrored, ...hiddenRefs(visibility, service, project, present)],
    keepsWhatCame: !visibility.isWhole,
    packBytesMax: pushBytesMax(project, config),
    hooks: isPush ? pushHooks(platform, { admitAgain, projectId: project.id, isWaiting, gone: gone.signal }) : undefined,
  });
  const leave = () => {
    gone.abort();
    served.abandon();
  };
  const old = setTimeout(leave, conversationMinutesMax * 60 * 1000);
  const hearNoMore = platform.notices.on('restart', (restarted) => {
    if (restarted === project.id) leave();
  });
  void served.ended.finally(() => {
    clearTimeout(old);
    hearNoMore();
  });
  return { ...served, protocol: spoken, hurry: () => gone.abort(), leave };
}

const protocolOf = (text: string | undefined) => (text !== undefined && /^version=[0-2]$/.test(text) ? text : undefined);

const GitServer = Type.Object({ push_size_hard_limit: Type.Integer({ minimum: 0 }) });
const mebibyte = 1024 * 1024;
/** A limit of 0 bytes would mean no limit to Git, so the lowest limit is one byte. */
const byteMin = 1;

export const pushBytesMax = (project: Project, config: Platform['config']) =>
  Math.max(Value.Parse(GitServer, settingsOf(project, config)['git_server']).push_size_hard_limit * mebibyte, byteMin);
