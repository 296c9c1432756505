/** A project on a running installation, and hands to work on it: commits, pushes, actions to the end of what they set off, and its addresses. */
import { cp } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { accessToken, send } from './api.ts';
import { eventually } from './eventually.ts';
import { createProject, openWorkingCopy } from './project.ts';
import type { RunningPlatform } from './running-platform.ts';
import { visit } from './visit.ts';

const usualPatience = { activitySecondsMax: 120, lookMilliseconds: 0 };
/** An access token lives longer. */
const tokenSecondsMax = 600;

export interface Person {
  url: string;
  apiToken: string;
  accessToken(): Promise<string>;
}

/** The administrator of an installation, from its first start. */
export async function firstPerson(url: string, started: RunningPlatform): Promise<Person> {
  return personWith(url, (await started.credentials()).apiToken);
}

export function personWith(url: string, apiToken: string): Person {
  let token: { text: Promise<string>; at: number } | undefined;
  return {
    url,
    apiToken,
    accessToken: () => {
      if (!token || performance.now() - token.at > tokenSecondsMax * 1000)
        token = { text: accessToken(url, apiToken), at: performance.now() };
      return token.text;
    },
  };
}

export interface Ended {
  id: string;
  state: string;
  created_at: string;
  result: string;
  log: string;
  failure_reason: string | null;
  timings: Record<string, number>;
}

export type Project = Awaited<ReturnType<typeof openProject>>;

export async function openProject(person: Person, { activitySecondsMax, lookMilliseconds } = usualPatience) {
  const { url, apiToken } = person;
  const project = await createProject(url, await person.accessToken());
  const copy = await openWorkingCopy(url, project, apiToken);

  const api = async (method: string, path: string, body?: unknown) => {
    const { status, json } = await send(url, await person.accessToken(), method, `/projects/${project}${path}`, body);
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${JSON.stringify(json)}`);
    return json;
  };
  const environment = (id: string) => api('GET', `/environments/${encodeURIComponent(id)}`);
  const readText = async (path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${await person.accessToken()}` };
    return (await fetch(new URL(`/projects/${project}${path}`, url), { headers })).text();
  };

  const ending = async (id: string): Promise<Ended> => {
    let activity: Ended | undefined;
    await eventually(
      `the activity ${id} ends`,
      async () => {
        activity = await api('GET', `/activities/${id}`);
        return activity?.state === 'complete' || sleep(lookMilliseconds, false);
      },
      activitySecondsMax,
      () => JSON.stringify(activity),
    );
    return activity as Ended;
  };
  /** To the end of what it sets off, however that ends. */
  const attempt = async (path: string, body: unknown = {}, method = 'POST'): Promise<Ended> => {
    const { _embedded } = await api(method, path, method === 'DELETE' ? undefined : body);
    return ending(_embedded.activities[0].id);
  };
  const commit = async (message: string) => {
    await copy.git('add', '--all');
    await copy.git('commit', '--quiet', '--allow-empty', '-m', message);
  };

  return {
    ...copy,
    project,
    api,
    environment,
    /** A log of one of its apps. */
    log: (id: string, app: string, name: string) => readText(`/environments/${encodeURIComponent(id)}/logs/${app}/${name}`),
    ending,
    attempt,
    /** As `attempt`, and it must go well. */
    act: async (path: string, body?: unknown, method?: string): Promise<Ended> => successful(await attempt(path, body, method)),
    async write(files: Record<string, string>, message: string) {
      for (const [name, text] of Object.entries(files)) await copy.write(name, text);
      await commit(message);
    },
    /** All that is in a folder, as it is. */
    async copyFrom(folder: string, message: string) {
      await cp(folder, copy.folder, { recursive: true });
      await commit(message);
    },
    /** Of the last thing that was pushed to the environment, or done to it. */
    async lastActivity(id: string): Promise<Ended> {
      const [last] = await api('GET', `/environments/${encodeURIComponent(id)}/activities?count=1`);
      return ending(last.id);
    },
    /** Where it answers. */
    async address(id: string): Promise<string> {
      const { _links } = await environment(id);
      return _links['pf:routes'].map(({ href }: { href: string }) => href).find((href: string) => !href.includes('//www.'));
    },
  };
}

export function successful(activity: Ended): Ended {
  if (activity.result !== 'success') throw new Error(`The activity ${activity.id} failed:\n${activity.log}`);
  return activity;
}

/** What a page says, which must be there. */
export async function read(address: string, path: string): Promise<string> {
  const { status, text } = await visit(new URL(path, address).href);
  if (status !== 200) throw new Error(`${path} was answered ${status}: ${text}`);
  return text;
}
