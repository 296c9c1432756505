/** Services on the machine: set up once, started, and told who may do what. Each part bears being done again. */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { nameOfType } from '../../../catalogue/catalogue.ts';
import type { Access } from '../../../catalogue/service.ts';
import type { Runtime } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Machine } from '../../../machine.ts';
import { accessOf } from './accounts.ts';
import { servicesOf, type WantedService } from '../stack/containers.ts';
import { located, type StackLocations } from '../stack/located.ts';
import { runInside } from '../inside/inside.ts';
import type { Addresses } from '../stack/relationships.ts';
import { resizeContainer } from './resize.ts';
import type { Stack } from '../stack/stack.ts';
import { endBoost, startBoosted } from './start-boost.ts';

const setupSecondsMax = 300;
const accessSecondsMax = 120;

export interface ServicesToStart {
  /** Services that are started even if something runs under their names. */
  changed: ReadonlySet<string>;
  /** Services that are told their databases and accounts even if they are not started. */
  told: ReadonlySet<string>;
  /** Containers that are to be given other limits, if they run. */
  resized?: ReadonlySet<string>;
  /** Whether the services ran as this stack says before they stopped: those that keep data then know their databases and accounts. */
  haveRun?: boolean;
  /** The databases and accounts of this stack stay beside those of the new one until the new one is current, because what is removed could not be brought back. */
  keeping?: Stack | undefined;
}

/** Starts all services at the same time, as none needs another. Those that already run as they should are left alone. */
export async function startServices(
  machine: Machine,
  locations: StackLocations,
  stack: Stack,
  { changed, told, resized, keeping, haveRun = false }: ServicesToStart,
  signal?: AbortSignal,
): Promise<void> {
  const started = await Promise.allSettled(
    servicesOf(stack).map(async (service) => {
      const isUp = !changed.has(service.name) && (await isRunning(machine, service.container.name));
      if (!isUp) await startService(machine, locations, service, signal);
      else if (resized?.has(service.container.name)) await resizeContainer(machine.runtime, service.container, `Service '${service.name}'`);
      const knows = isUp || (haveRun && service.service.keepsData);
      if (!knows || told.has(service.name)) await tellAccounts(machine, service, accessFor(stack, service, keeping), signal);
      if (!isUp) await endBoost(machine.runtime, service.container);
    }),
  );
  for (const each of started) if (each.status === 'rejected') throw each.reason;
}

/** A service that is being restarted does not count as running: it may never run, and starting it again tells why. */
export const isRunning = async ({ runtime }: Pick<Machine, 'runtime'>, name: string): Promise<boolean> =>
  ['running', 'paused'].includes((await runtime.state(name)).status);

async function startService(machine: Machine, locations: StackLocations, service: WantedService, signal?: AbortSignal) {
  try {
    if (!(await isSetUp(locations, service))) await setUp(machine, locations, service, signal);
    await startBoosted(machine.runtime, located(service.container, locations), signal);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const words = error.message.replaceAll(service.container.name, `Service '${service.name}'`);
    throw new Problem(error.kind, words, { cause: error, ...(error.internal !== undefined && { internal: error.internal }) });
  }
}

async function isSetUp({ folders }: StackLocations, { service: { initialised }, volume }: WantedService): Promise<boolean> {
  if (initialised === undefined) return true;
  const folder = volume === undefined ? undefined : folders.get(volume);
  return folder !== undefined && (await lstat(join(folder, initialised)).catch(() => undefined)) !== undefined;
}

/** Sets a service up in a container of its own, which is removed afterwards. */
async function setUp({ runtime }: Machine, locations: StackLocations, { name, service, setup }: WantedService, signal?: AbortSignal) {
  await runtime.remove(setup.name);
  try {
    await startBoosted(runtime, located(setup, locations), signal);
    for (const command of service.initialise) {
      const { code, said } = await runInside(runtime, setup.name, command, { secondsMax: setupSecondsMax, signal });
      if (code !== 0)
        throw new Problem(
          'unavailable',
          `Service '${name}' could not be set up: ${command.argv[0]} ended with exit code ${code}.\n${said}`,
        );
    }
  } finally {
    await runtime.remove(setup.name);
  }
}

function accessFor(stack: Stack, { name, type }: WantedService, keeping: Stack | undefined): Access {
  const configured = stack.model.services[name];
  if (!configured) throw new Error(`${name} is not a service of the stack`);
  const access = accessOf(configured, stack.secrets.accounts);
  const before = keeping?.model.services[name];
  if (!keeping || !before || nameOfType(before.type) !== nameOfType(type)) return access;
  const kept = accessOf(before, keeping.secrets.accounts);
  const names = new Set(access.accounts.map((account) => account.name));
  return {
    ...access,
    databases: [...new Set([...access.databases, ...kept.databases])],
    accounts: [...access.accounts, ...kept.accounts.filter((account) => !names.has(account.name))],
  };
}

/** Passwords are passed on standard input, and masked in messages about failures. */
async function tellAccounts({ runtime }: Machine, { name, service, container }: WantedService, access: Access, signal?: AbortSignal) {
  for (const command of service.access?.(access) ?? []) {
    const { code, said } = await runInside(runtime, container.name, command, { secondsMax: accessSecondsMax, signal });
    if (code === 0) continue;
    const hidden = access.accounts.reduce((text, { password }) => text.replaceAll(password, '*****'), said);
    throw new Problem('invalid-request', `The databases and accounts of service '${name}' could not be set up:\n${hidden}`);
  }
}

/** Removes databases and accounts that were kept only for the previous stack. */
export async function dropOldAccess(machine: Machine, stack: Stack, names: readonly string[]): Promise<void> {
  await Promise.all(
    servicesOf(stack)
      .filter(({ name }) => names.includes(name))
      .map((service) => tellAccounts(machine, service, accessFor(stack, service, undefined))),
  );
}

/** The current addresses of services. */
export async function serviceAddresses({ runtime }: { runtime: Pick<Runtime, 'state'> }, stack: Stack): Promise<Addresses> {
  const found = await Promise.all(
    servicesOf(stack).map(async ({ name, container }) => {
      const { address } = await runtime.state(container.name);
      return [name, address === undefined ? [] : [address]] as const;
    }),
  );
  return Object.fromEntries(found);
}
