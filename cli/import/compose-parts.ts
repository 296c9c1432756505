/** Parts of the translation of a compose file: names, folders, and what has no counterpart. */
import type { SourceTree } from '../../server/rooms/builds/config/source-tree.ts';
import type { ComposeService } from './compose-file.ts';
import type { Dockerfile } from './dockerfile.ts';
import { insideOf } from './dockerfile.ts';
import { lose, remark, type AppDraft, type Draft } from './draft.ts';

/** As names of apps and services may be here. */
export const nameFor = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/([_-])[_-]+/g, '$1')
    .replaceAll(/^[_-]+|[_-]+$/g, '')
    .slice(0, 63) || 'app';

export const commandToSet = (name: string) => `upsun variable:create --level environment --prefix env: --name ${name} --sensitive true`;

/** Where its sources are: the context of its build, or the folder that is mounted into an image of a language. */
export function appFolder({ build, volumes }: ComposeService): string | undefined {
  if (build) return build.context;
  return volumes.find(({ from }) => from !== undefined && /^\.{1,2}(?:\/|$)/.test(from))?.from ?? '.';
}

export function subtree(tree: SourceTree, folder: string): SourceTree {
  if (folder === '') return tree;
  return {
    list: async (inner) =>
      (await tree.list(inner === '' ? folder : `${folder}/${inner}`)).map((entry) => ({
        ...entry,
        path: entry.path.slice(folder.length + 1),
      })),
    read: (path) => tree.read(`${folder}/${path}`),
  };
}

/** Volumes inside of the app's folder become mounts; its own sources come with a push. */
export function foldersOfApp(
  draft: Draft,
  at: readonly string[],
  app: AppDraft,
  service: ComposeService,
  dockerfile: Dockerfile | undefined,
) {
  const folder = service.workingFolder ?? dockerfile?.workingFolder ?? '/app';
  const declared = (dockerfile?.volumes ?? []).map((to) => ({ to, from: undefined }));
  for (const { from, to } of [...service.volumes, ...declared]) {
    const inner = insideOf(folder, to.replace(/\/$/, ''));
    if (inner === '' || to.replace(/\/$/, '') === folder.replace(/\/$/, '')) {
      remark(draft, at, `The folder ${from ?? to} was its sources, which come with a push here.`);
    } else if (to.startsWith('/') && inner === to.replace(/\/$/, '')) {
      lose(draft, at, `carried over: the folder ${to}; an app writes into folders below its own, ${folder}.`);
    } else if (from === undefined && /(?:^|\/)(?:node_modules|\.venv|vendor|target)$/.test(inner)) {
      remark(draft, at, `${inner} is made by the build and needs no volume.`);
    } else {
      app.mounts = { ...app.mounts, [inner]: { source: 'storage' } };
      if (from !== undefined && /^[./~]/.test(from))
        remark(
          draft,
          at,
          `The mount ${inner} begins empty; bring the files of ${from} with: upsun mount:upload --mount ${inner} --source ${from}`,
        );
    }
  }
}

/** What each key of compose was for, and why it is not needed, or not had, here. */
const reasons: Readonly<Record<string, string>> = {
  restart: 'the platform starts again what ends',
  healthcheck: 'the platform looks whether apps answer',
  networks: 'apps reach exactly what they have relationships to',
  network_mode: 'apps reach exactly what they have relationships to',
  container_name: 'names are the platform’s',
  hostname: 'names are the platform’s',
  labels: 'routes and domains say what is reached',
  logging: 'logs are kept by the platform, and can be forwarded',
  deploy: 'sizes and instances are set with `upsun resources:set`',
  scale: 'instances are set with `upsun resources:set`',
  mem_limit: 'sizes are set with `upsun resources:set`',
  cpus: 'sizes are set with `upsun resources:set`',
  user: 'apps run as a user of their own',
  privileged: 'apps have no rights over the machine',
  cap_add: 'apps have no rights over the machine',
  devices: 'apps have no devices of the machine',
  secrets: 'sensitive variables hold secrets',
  configs: 'files of the repository are there when it runs',
  tmpfs: 'a mount with `source: tmp` is a folder for what need not last',
  extra_hosts: 'the key `additional_hosts` of an app has these',
  profiles: 'everything of a configuration runs; leave out what should not',
  stdin_open: 'there is no terminal; `upsun ssh` opens one',
  tty: 'there is no terminal; `upsun ssh` opens one',
  platform: 'images are built for the machine',
  pull_policy: 'images are the platform’s',
  stop_grace_period: 'instances get the platform’s time to end',
  init: 'every container has one',
};

export function losesKeys(draft: Draft, at: readonly string[], { others }: ComposeService) {
  for (const key of others) lose(draft, at, `carried over: ${key}; ${reasons[key] ?? 'it has no counterpart here'}.`);
}
