/**
 * Where an installed service keeps what:
 *
 *     /opt/offshoot/<version>/             a program, with its packages and its Node; settings.env there leads to the settings
 *     /opt/offshoot/current                a link to the one that runs
 *     /opt/offshoot/upgrade.json           an upgrade that is under way; last-upgrade.json: the one that can be taken back
 *     /etc/offshoot/offshoot.env           the settings
 *     /etc/systemd/system/offshoot*.service
 *     /usr/local/bin/offshoot              a link to the command of the program that runs
 */
import { existsSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';

export interface ServicePaths {
  /** The folder of programs. */
  programs: string;
  settings: string;
  /** The folder of unit files. */
  units: string;
  command: string;
  /** The data folder of an installation whose settings name no other. */
  data: string;
}

export const machinePaths: ServicePaths = {
  programs: '/opt/offshoot',
  settings: '/etc/offshoot/offshoot.env',
  units: '/etc/systemd/system',
  command: '/usr/local/bin/offshoot',
  data: '/var/lib/offshoot',
};

export const currentLink = ({ programs }: ServicePaths) => join(programs, 'current');
export const programFolder = ({ programs }: ServicePaths, version: string) => join(programs, version);
/** While this file is there, an installation was begun and is not finished. */
export const installingMark = ({ programs }: ServicePaths) => join(programs, 'installing');

/** The version that runs, or that the next start runs; undefined where nothing is installed. */
export function currentVersion(paths: ServicePaths): string | undefined {
  const link = currentLink(paths);
  return existsSync(link) ? basename(readlinkSync(link)) : undefined;
}
