/**
 * `./offshoot install`: this program becomes a service of the machine. It can be run again when it was interrupted or the platform did not start; what is there is
 * used. Settings that are there are kept.
 */
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { readConfig, type Config } from '../../server/config.ts';
import { openDataFolder } from '../../server/data-folder.ts';
import { isEdgeIn } from '../../server/drivers/edge/open-edge.ts';
import { ensureInstalled, showFirstCredentials } from '../../server/installation.ts';
import { Problem } from '../../server/kernel/problem.ts';
import { openSecrets } from '../../server/kernel/secrets.ts';
import { withNewDatabase } from '../database.ts';
import { startHealthy } from './healthy.ts';
import { currentLink, currentVersion, installingMark, type ServicePaths } from './service-paths.ts';
import { makeCurrent, placeProgram, versionOf } from './program.ts';
import { alone, refuseMachine, type Service } from './service.ts';
import { readSettings, settingsGiven, settingsText, writeSettings, type Settings } from './settings-file.ts';
import { environmentsUnit, platformUnit, unitFiles } from './unit-files.ts';

export type Env = Record<string, string | undefined>;

/** `source`: the folder of the program. `env`: what is set for this command becomes the settings. */
export async function install(service: Service, source: string, env: Env): Promise<void> {
  refuseMachine(service);
  const { paths, say } = service;
  refuseInstalled(paths);
  const settings = settingsToBe(paths, env);
  // The settings of the administrator are for the installation itself, and are not kept.
  const config = readConfig({ ...env, ...settings });
  await refuseBusy(service, config);
  await mkdir(paths.programs, { recursive: true, mode: 0o755 });
  await alone(service, async () => {
    await writeFile(installingMark(paths), '');
    const version = versionOf(source);
    say(`Installing ${version} in ${paths.programs}…`);
    await placeProgram(service, source, version);
    await makeCurrent(paths, version);
    if (!existsSync(paths.settings)) writeSettings(paths.settings, settingsText(settings));
    await firstStart(service, config);
    await writeUnits(service, config);
    await placeCommand(paths);
    await startInstalled(service, config);
    await rm(installingMark(paths));
    for (const line of farewell(paths, config)) say(line);
  });
}

function refuseInstalled(paths: ServicePaths): void {
  const version = currentVersion(paths);
  if (version === undefined || existsSync(installingMark(paths))) return;
  throw new Problem(
    'conflict',
    `Offshoot ${version} is installed already. ./offshoot upgrade replaces it by this version, and offshoot uninstall removes it and keeps its data.`,
  );
}

/** What a service has beside what is set: visitors of a machine of its own look for it at the usual ports. */
const usualPorts = (given: Settings): Settings => (readConfig(given).tls ? { OFFSHOOT_HTTP_PORT: '80', OFFSHOOT_HTTPS_PORT: '443' } : {});

export function settingsToBe(paths: ServicePaths, env: Env): Settings {
  const given = settingsGiven(env);
  if (!existsSync(paths.settings)) return { OFFSHOOT_DATA: paths.data, ...usualPorts(given), ...given };
  const kept = readSettings(paths.settings);
  const other = Object.entries(given).find(([name, value]) => !name.startsWith('OFFSHOOT_ADMIN_') && kept[name] !== value);
  if (other !== undefined)
    throw new Problem(
      'conflict',
      `There are settings in ${paths.settings} already, and ${other[0]} is not the same there; change it there.`,
    );
  return kept;
}

/** Refuses, before anything is changed, where the data folder or a port is in use. */
async function refuseBusy({ manager }: Service, config: Config): Promise<void> {
  // The platform that runs was left by an earlier attempt.
  if ((await manager.runningAs(platformUnit)) !== undefined) return;
  openDataFolder(config.data).close();
  for (const { setting, host, port } of await portsOf(config)) {
    const code = await listeningError(host, port);
    if (code === 'EADDRINUSE')
      throw new Problem('conflict', `Port ${port} is in use; stop what listens there, or set ${setting} for this command to another one.`);
    if (code !== undefined) throw new Problem('conflict', `Nothing can listen on ${host} port ${port} (${code}); set OFFSHOOT_HOST.`);
  }
}

/** The ports that have to be free. An edge that already serves this data folder is taken over, so its ports may be in use. */
async function portsOf({ host, apiHost, port, sshPort, tracesPort, relay, tls, edge, data }: Config) {
  const ofEdge = [
    { setting: 'OFFSHOOT_HTTP_PORT', host, port: edge.port },
    ...(tls ? [{ setting: 'OFFSHOOT_HTTPS_PORT', host, port: edge.httpsPort }] : []),
  ];
  return [
    { setting: 'OFFSHOOT_PORT', host: apiHost, port },
    { setting: 'OFFSHOOT_SSH_PORT', host, port: sshPort },
    { setting: 'OFFSHOOT_TRACES_PORT', host: '0.0.0.0', port: tracesPort },
    { setting: 'OFFSHOOT_RELAY_PORT', host: '0.0.0.0', port: relay.port },
    ...((await isEdgeIn(join(data, 'edge'))) ? [] : ofEdge),
  ];
}

function listeningError(host: string, port: number): Promise<string | undefined> {
  return new Promise((settle) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => settle(undefined)));
  });
}

/** The first start happens here, where somebody sees the credentials; they must not be in a journal. */
async function firstStart({ manager, say }: Service, config: Config): Promise<void> {
  if ((await manager.runningAs(platformUnit)) !== undefined) return;
  const data = openDataFolder(config.data);
  const secrets = openSecrets(config.secretKeys ?? data.secretKeys());
  data.close();
  await withNewDatabase(config, async (db) => {
    await ensureInstalled(db, secrets, config.admin);
    await showFirstCredentials(db, secrets, config, say);
  });
}

export async function writeUnits({ paths, manager }: Service, config: Config): Promise<void> {
  await mkdir(paths.units, { recursive: true });
  for (const [name, text] of Object.entries(unitFiles(paths, config))) await writeFile(join(paths.units, name), text);
  await manager.reload();
}

/** A file of that name that is not ours belongs to somebody else, and is left alone. */
async function placeCommand({ command, ...paths }: ServicePaths): Promise<void> {
  const program = join(currentLink({ command, ...paths }), 'offshoot');
  await mkdir(dirname(command), { recursive: true });
  await symlink(program, command).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

async function startInstalled({ paths, manager, patience }: Service, config: Config): Promise<void> {
  await manager.enable(platformUnit);
  try {
    await startHealthy(manager, config, patience);
  } catch (cause) {
    // Otherwise systemd would start it again and again.
    await manager.stop(platformUnit).catch(() => {});
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Problem('unavailable', `${reason}\nCorrect it, in ${paths.settings} for example, and run ./offshoot install again.`, {
      cause,
    });
  }
}

const farewell = ({ settings, command }: ServicePaths, { url, data, tls }: Config): string[] => [
  `Offshoot is ready at ${url}, and starts with the machine.`,
  ...(tls ? [`  authority  ${command} ca   (tells how to have browsers and programs trust it)`] : []),
  `  settings   ${settings}   (systemctl restart offshoot after a change)`,
  `  data       ${data}`,
  `  logs       journalctl --unit ${platformUnit}`,
  `  command    ${command}   (as root; offshoot --help)`,
  `Stopping ${platformUnit} leaves environments running; stopping ${environmentsUnit} ends them, too.`,
];
