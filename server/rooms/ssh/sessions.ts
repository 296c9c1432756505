/**
 * The connections into apps that this process has. Each is written down, for the operator to see and to be counted; each is asked about again every
 * other second, and closed when whoever came may no longer be there.
 */
import type { Credential } from '../../identity.ts';
import { shortId } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import type { Visitor } from '../../drivers/ssh/ssh-server.ts';
import { admit, type Admission } from './admission.ts';
import { deleteSession, forgetLostSessions, insertSession, noteSeen, type Full } from './queries.ts';

const watchSeconds = 2;
/** An organization has no more than a part of the connections that a process takes (drivers/ssh/ssh-server.ts). */
const limits = { perUserMax: 20, perInstanceMax: 50, perOrganizationMax: 200 };

export interface Session {
  /** Aborted, with a sentence for the visitor, when the session is to end. */
  closing: AbortSignal;
}

interface Open {
  id: string;
  visitor: Visitor<Credential>;
  closing: AbortController;
}

/** A client has this long to take the last words. */
const lastWordsMilliseconds = 1000;

export function openSessionBook(platform: Platform) {
  const { db, log } = platform;
  const open = new Map<string, Open>();
  let watching: Promise<void> = Promise.resolve();

  const close = ({ closing, visitor }: Open, sentence: string) => {
    closing.abort(sentence);
    setTimeout(() => visitor.dismiss(), lastWordsMilliseconds).unref();
  };
  const watch = async () => {
    const all = [...open.values()];
    if (all.length === 0) return;
    const ended = await noteSeen(db, [...open.keys()]);
    for (const each of all) {
      const sentence = ended.has(each.id) ? 'This session was ended by an operator.' : await reasonToLeave(platform, each.visitor);
      if (sentence !== undefined) close(each, sentence);
    }
  };
  const timer = setInterval(() => {
    watching = watching.then(watch).catch((error: unknown) => log.error({ err: error }, 'sessions over SSH could not be looked at'));
  }, watchSeconds * 1000);

  return {
    /** Throws a Problem where there are too many. */
    async begin(visitor: Visitor<Credential>, { caller, environment, runs, instance }: Admission): Promise<Session> {
      const id = shortId();
      const { project_id, id: environment_id } = environment;
      const { address } = visitor;
      await forgetLostSessions(db);
      const full = await insertSession(
        db,
        { id, user_id: caller.id, project_id, environment_id, runs, instance, address, via: caller.via },
        limits,
      );
      if (full) throw tooMany(full, runs);
      const session = { id, visitor, closing: new AbortController() };
      open.set(id, session);
      const about = { session: id, user: caller.id, project: project_id, environment: environment_id, runs, instance, address };
      log.info(about, 'a session over SSH has begun');
      const end = () => {
        open.delete(id);
        log.info(about, 'a session over SSH has ended');
        deleteSession(db, id).catch((error: unknown) => log.error({ err: error }, 'the end of a session could not be written down'));
      };
      if (visitor.gone.aborted) end();
      else visitor.gone.addEventListener('abort', end, { once: true });
      return { closing: session.closing.signal };
    },
    async close() {
      clearInterval(timer);
      await watching;
      for (const each of open.values()) close(each, 'The platform is being stopped; connect again in a moment.');
      if (open.size > 0) await new Promise((resolve) => setTimeout(resolve, lastWordsMilliseconds));
    },
  };
}

const tooMany = (full: Full, runs: string) => {
  const sentences: Record<Full, string> = {
    user: `You have ${limits.perUserMax} sessions open already; close one first.`,
    instance: `${runs} has ${limits.perInstanceMax} sessions open already; try again when somebody has left.`,
    organization: `The organization has ${limits.perOrganizationMax} sessions open already; try again when somebody has left.`,
  };
  return new Problem('too-many-requests', sentences[full]);
};

/** An environment that pauses or stops is no reason to close sessions: they end with its containers. */
async function reasonToLeave(platform: Platform, { who, user }: Visitor<Credential>): Promise<string | undefined> {
  try {
    await admit(platform, who, user);
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.kind === 'conflict' ? undefined : 'This session was closed: you no longer have access.';
  }
}
