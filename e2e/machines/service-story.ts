/**
 * What happens to the service of a platform, under the systemd of a machine: it is killed, upgraded, taken back, and booted with the machine. Whoever visits an
 * environment notices nothing of it but the boot, and nobody loses a row.
 */
import { expect, test } from 'vitest';
import { everythingIn, readConstantly, signConstantly } from './guestbook.ts';
import type { Machine } from './machine.ts';
import { note, time } from './measured.ts';
import { patiently } from './patiently.ts';
import { expectAllRows, type Stage } from './stage.ts';
import { programAt, suppliesAt } from './supplies-disk.ts';

const programs = '/opt/offshoot';
const otherAt = `${suppliesAt}/other`;
const upgradeSecondsMax = 1800;

const currentVersion = (machine: Machine) => machine.run(`readlink ${programs}/current`);

/** Another version, by one line of a text that nobody runs. */
const bringOtherVersion = (machine: Machine) =>
  machine.run(
    `mkdir ${otherAt} && tar -C ${programAt} --exclude=./node_modules -cf - . | tar -C ${otherAt} -xf - && ` +
      `ln -s ${programAt}/node_modules ${otherAt}/node_modules && echo 'Another version.' >>${otherAt}/CHANGELOG.md`,
  );

/** What visitors of the guestbook see and write while something is done: no page is missing, and no row. */
async function expectUndisturbed(stage: Stage, by: string, does: () => Promise<void>) {
  const address = await stage.guestbook.address('main');
  await using signing = signConstantly(address);
  await using visiting = readConstantly(address);
  await does();
  await signing.stop();
  const { count, failures } = await visiting.stop();
  expect(failures).toEqual([]);
  expect(count).toBeGreaterThan(0);
  note(`visits during ${by}`, `${count}, ${failures.length} failed`);
  await expectAllRows(stage, signing.acknowledged, by);
}

export function tellOfKill(onStage: () => Stage) {
  test('the platform is killed, and systemd starts it again; environments are served all the time', async () => {
    const stage = onStage();
    const { machine, platform } = stage;
    const invocation = () => machine.run('systemctl show --property=InvocationID --value offshoot');
    const before = await invocation();
    await expectUndisturbed(stage, 'kill -9', async () => {
      await machine.run('systemctl kill --signal=KILL --kill-whom=main offshoot');
      await time('platform back after kill -9', async () => {
        await patiently('systemd starts the platform again', async () => (await invocation()) !== before, upgradeSecondsMax);
        await platform.untilReady();
      });
    });
    expect(await invocation()).not.toBe(before);
  });
}

export function tellOfUpgrades(onStage: () => Stage) {
  test('an upgrade that is killed half way goes back first when it is run again; it succeeds, and is taken back', async () => {
    const stage = onStage();
    const { machine, platform } = stage;
    const from = await currentVersion(machine);
    await bringOtherVersion(machine);
    await expectUndisturbed(stage, 'upgrades', async () => {
      await machine.run(`systemd-run --quiet --collect --unit=upgrading ${otherAt}/offshoot upgrade`);
      // Until then nothing is changed; then the platform is stopped.
      const isHalfWay = async () => (await machine.attempt(`test -e ${programs}/upgrade.json`)).code === 0;
      await patiently('the upgrade is half way', isHalfWay, upgradeSecondsMax);
      await machine.run('systemctl kill --signal=KILL upgrading');
      const said = await time('upgrade after a killed one', () => machine.run(`offshoot upgrade ${otherAt}`));
      expect(said).toContain(`was interrupted; going back to ${from} first.`);
      expect(await currentVersion(machine)).not.toBe(from);
      await platform.untilReady();

      await time('upgrade --back', () => machine.run('offshoot upgrade --back'));
      expect(await currentVersion(machine)).toBe(from);
      await platform.untilReady();
    });
  });
}

export function tellOfReboot(onStage: () => Stage) {
  test('the machine is rebooted in order: databases end as they should, all is served again, and every row is there', async () => {
    const stage = onStage();
    const { machine, platform, guestbook } = stage;
    await using signing = signConstantly(await guestbook.address('main'));
    await patiently('somebody has signed', () => signing.acknowledged.length > 0, upgradeSecondsMax);
    await time('orderly reboot', () => machine.reboot());
    await signing.stop();
    await time('start after an orderly reboot', () => platform.untilReady());
    await expectAllRows(stage, signing.acknowledged, 'an orderly reboot');
    expect(await machine.run('journalctl --boot=-1 --unit=offshoot-environments --output=cat')).toContain('containers are stopped');
  });
}

export function tellOfEnd(onStage: () => Stage) {
  test('uninstalled, nothing of it runs, and data and settings are there; asked to, they go as well', async () => {
    const { machine, guestbook } = onStage();
    expect((await everythingIn(await guestbook.address('main'))).words).not.toEqual([]);
    await time('uninstall', () => machine.run('offshoot uninstall'));
    expect(await tracesOn(machine)).toBe('');
    expect(await machine.run('ls /var/lib/offshoot/postgres/cluster/PG_VERSION /etc/offshoot/offshoot.env')).not.toBe('');
    await time('uninstall --data', () => machine.run(`${programAt}/offshoot uninstall --data --yes`));
    expect(await machine.run('ls -d /var/lib/offshoot /etc/offshoot || true')).toBe('');
    expect(await machine.run('systemctl list-units --failed --no-legend --plain')).toBe('');
  });
}

/** Units, programs, processes, mounts, control groups, links and rules of a service. */
const tracesOn = (machine: Machine): Promise<string> =>
  machine.run(`
    systemctl list-unit-files 'offshoot*' --no-legend
    ls -d ${programs} /usr/local/bin/offshoot /sys/fs/cgroup/offshoot-* /sys/class/net/of-* /sys/class/net/ov-* 2>/dev/null
    pgrep --list-full 'conmon|postgres|runc'
    findmnt --noheadings --output TARGET | grep -E '/(var/lib|run)/offshoot/'
    nft list tables | grep offshoot
    true`);
