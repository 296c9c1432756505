/** The commands of the service, on this machine and with this program. */
import { Problem } from '../../server/kernel/problem.ts';
import type { Arguments } from '../usage.ts';
import { install } from './install.ts';
import { ownFolder } from './program.ts';
import { thisMachine } from './service.ts';
import { uninstall } from './uninstall.ts';
import { takeBackUpgrade, upgrade } from './upgrade.ts';

export const installHere = () => install(thisMachine, ownFolder, process.env);

export async function upgradeHere({ words: [folder], flags }: Arguments) {
  if (folder !== undefined)
    throw new Problem('not-found', `There is no Offshoot in ${folder}; give the folder of a checkout or a release.`);
  return flags.back ? takeBackUpgrade(thisMachine, flags.yes ?? false) : upgrade(thisMachine, ownFolder);
}

export const uninstallHere = ({ flags }: Arguments) =>
  uninstall(thisMachine, { withData: flags.data ?? false, isSure: flags.yes ?? false });
