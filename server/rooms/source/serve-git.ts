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

/** The project, if the caller may fetch from it or push to it; throws a Problem otherwise. Absent and invisible are answered alike. */
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
  if (service === 'receive-pack' && !mayPushSomewhere(caller, project))
    throw new Problem('forbidden', 'You may view this project, but not push to it; ask one of its administrators.');
  return project;
}

export interface GitConversation extends Served {
  /** The one that is spoken, which need not be the one that was asked for. */
  protocol: string | undefined;
  /** Nobody is there any more. */
  leave(): void;
  /** What is only there to be watched ends; the rest goes on to its end. */
  hurry(): void;
}

export interface GitCaller {
  caller: Caller;
  /** The same person as they are now; undefined: what they came with is no longer accepted. */
  callerNow(): Promise<Caller | undefined>;
}

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
  /** The newer protocol gives out whatever is asked for by its id; the older one only what is shown. */
  const spoken = visibility.isWhole && service === 'upload-pack' ? protocolOf(protocol) : undefined;
  /** A push may take long: what counts is what the pusher may do when it has come. */
  const admitAgain = async () => {
    const now = await callerNow();
    if (!now) throw new Problem('unauthenticated', 'What you signed in with is no longer accepted; sign in again, and push again.');
    return { caller: now, project: await admit(platform, now, project.id, service) };
  };
  const present = visibility.isWhole ? [] : [...(await git.branches(project.id)).keys()];
  const served = git.serve(project.id, {
    user: caller.id,
    parties: await partiesOf(platform.db, project.id),
    service,
    part,
    protocol: spoken,
    hiddenRefs: hiddenRefs(visibility, service, project, present),
    keepsWhatCame: !visibility.isWhole,
    packBytesMax: pushBytesMax(project, config),
    hooks: isPush ? pushHooks(platform, { admitAgain, projectId: project.id, isWaiting, gone: gone.signal }) : undefined,
  });
  const leave = () => {
    gone.abort();
    served.abandon();
  };
  const old = setTimeout(leave, conversationMinutesMax * 60 * 1000);
  void served.ended.finally(() => clearTimeout(old));
  return { ...served, protocol: spoken, hurry: () => gone.abort(), leave };
}

const protocolOf = (text: string | undefined) => (text !== undefined && /^version=[0-2]$/.test(text) ? text : undefined);

const GitServer = Type.Object({ push_size_hard_limit: Type.Integer({ minimum: 0 }) });
const mebibyte = 1024 * 1024;
/** To Git, none means no limit. */
const byteMin = 1;

export const pushBytesMax = (project: Project, config: Platform['config']) =>
  Math.max(Value.Parse(GitServer, settingsOf(project, config)['git_server']).push_size_hard_limit * mebibyte, byteMin);
