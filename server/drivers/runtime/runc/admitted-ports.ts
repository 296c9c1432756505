/**
 * Ports of the machine that containers reach, a line for each purpose. In the run folder: the rules of the last boot are gone, too, and whoever listens has its
 * port admitted again.
 */
import { join } from 'node:path';
import type { AdmittedPort } from '../runtime.ts';
import { type RuntimeFolders, readText, writeWhole } from './runtime-folders.ts';

const admittedFile = (folders: RuntimeFolders) => join(folders.runFolder, 'admitted-ports');

export const admittedPorts = (folders: RuntimeFolders): AdmittedPort[] =>
  [...(readText(admittedFile(folders)) ?? '').matchAll(/^(\S+) (\d+) (\d+) (refuse|wait)$/gm)].map(
    ([, purpose = '', port, as, whileNobodyListens]) => ({
      purpose,
      port: Number(port),
      as: Number(as),
      whileNobodyListens: whileNobodyListens === 'wait' ? 'wait' : 'refuse',
    }),
  );

export function noteAdmittedPort(folders: RuntimeFolders, admitted: AdmittedPort): void {
  const all = [...admittedPorts(folders).filter(({ purpose }) => purpose !== admitted.purpose), admitted];
  const lines = all.map(({ purpose, port, as, whileNobodyListens }) => `${purpose} ${port} ${as} ${whileNobodyListens}\n`);
  writeWhole(admittedFile(folders), lines.join(''));
}
