/**
 * Under which names one gets into what runs: `<project>-<machine name>--<app>`, a worker's as `…--<app>--<worker>`, and one instance with its number at the
 * end. The links of an environment and the SSH door both follow this file, so that what is shown is what is let in.
 */
import type { Caller, Permission } from '../../platform.ts';
import type { Environment } from './queries.ts';
import { environmentLife } from './life-cycle.ts';

type Ssh = Pick<Environment, 'id' | 'project_id' | 'organization_id' | 'type' | 'machine_name' | 'status' | 'ssh_roles' | 'sizing'>;

export interface SshDestination {
  /** The app, or `<app>--<worker>`. */
  runs: string;
  instance: number;
}

/** The configuration says who may get in: `access: {ssh: contributor}`. */
const permissionOf: Record<string, Permission> = {
  viewer: 'environment:view',
  contributor: 'environment:push',
  admin: 'environment:admin',
};

export const sshPermission = (environment: Pick<Ssh, 'ssh_roles'>, runs: string): Permission =>
  permissionOf[environment.ssh_roles[runs] ?? ''] ?? 'environment:admin';

const clusterOf = ({ project_id, machine_name }: Ssh) => `${project_id}-${machine_name}`;

/** All destinations, by what follows `<project>-<machine name>--`. Where a worker and an instance would have the same name, it is the worker's. */
export function sshDestinations(environment: Pick<Ssh, 'ssh_roles' | 'sizing'>): Map<string, SshDestination> {
  const { webapps, workers } = environment.sizing;
  const named = new Map<string, SshDestination>();
  for (const runs of Object.keys(environment.ssh_roles)) named.set(runs, { runs, instance: 0 });
  for (const runs of Object.keys(environment.ssh_roles)) {
    const count = { ...webapps, ...workers }[runs]?.instance_count ?? 1;
    for (let instance = 0; instance < count; instance += 1)
      if (!named.has(`${runs}--${instance}`)) named.set(`${runs}--${instance}`, { runs, instance });
  }
  return named;
}

export interface SshName {
  projectId: string;
  machineName: string;
  /** What follows the cluster and the two dashes. */
  rest: string;
}

/** Two dashes separate the parts: ids of projects, machine names, and names of apps and workers never contain two in a row. */
export function readSshName(user: string): SshName | undefined {
  const [, projectId, machineName, rest] = /^([a-z0-9]{1,64})-([a-z0-9-]{1,63}?)--([a-z0-9_-]{1,200})$/.exec(user) ?? [];
  return projectId !== undefined && machineName !== undefined && rest !== undefined ? { projectId, machineName, rest } : undefined;
}

/** The name under which a destination in an environment is come to. */
export const sshNameOf = (environment: Ssh, destination: string) => `${clusterOf(environment)}--${destination}`;

const scopeOf = ({ project_id: project, organization_id: organization, type: environmentType }: Ssh) => ({
  project,
  organization,
  environmentType,
});

/** Whether the caller may get into anything of what runs. */
export const mayEnter = (environment: Ssh, caller: Caller): boolean =>
  Object.keys(environment.ssh_roles).some((runs) => caller.can(sshPermission(environment, runs), scopeOf(environment)));

type Link = { href: string };

/** The links `pf:ssh:<app>`, and `pf:ssh:<app>:<instance>` for each instance, for callers who may get in and while there is something to get into. */
export function sshLinks(environment: Ssh, domain: string, caller: Caller | undefined): Record<string, Link> {
  if (!environmentLife.possible(environment.status, 'enter') || !caller) return {};
  const scope = scopeOf(environment);
  if (caller.hindrance(scope, 'environment:view') ?? caller.suspension(scope)) return {};
  const links: Record<string, Link> = {};
  for (const [name, { runs, instance }] of sshDestinations(environment)) {
    if (!caller.can(sshPermission(environment, runs), scope)) continue;
    links[`pf:ssh:${name === runs ? runs : `${runs}:${instance}`}`] = { href: `ssh://${sshNameOf(environment, name)}@ssh.${domain}` };
  }
  return links;
}
