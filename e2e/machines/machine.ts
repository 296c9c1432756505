/**
 * A computer of one's own, as far as anything in it can tell: it boots, it can be told what to do, and its power can be cut.
 *
 * A cut is as bad as a real one. Each boot writes on a new layer, and where on the layer something lies is known only to the emulator until the machine has its
 * disk flush: what was not flushed goes with the emulator, unless it was written over something that was. So what was flushed is there, and of the rest some is
 * and some is not, in no particular order.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../edge/testing/ports.ts';
import { eventually } from '../eventually.ts';
import { runProgram } from '../program.ts';
import { architecture, processorOf } from './architectures.ts';
import { patiently } from './patiently.ts';
import { suppliesDisk } from './supplies-disk.ts';
import { type SystemDisk, systemDisk } from './system-disk.ts';

/** Everything takes ten times as long where it is emulated, and longer beside other work. */
const bootSecondsMax = 1800;
const commandSecondsMax = 1800;
const endSecondsMax = 60;
const lookSecondsMax = 60;
const memoryMegabytes = 4096;
const consoleCharactersShown = 5000;
/** So much of where things lie is kept in memory that nothing of it is written before a flush. */
const layerTableBytes = 64 * 2 ** 20;

const spareBytes = 16 * 2 ** 20;
/** A disk that nobody uses, in the machine. */
export const spareDisk = '/dev/disk/by-id/virtio-spare';

export interface Ports {
  api: number;
  edge: number;
  ssh: number;
}

export class Machine {
  readonly ports: Ports;
  private readonly system: SystemDisk;
  private readonly folder: string;
  private readonly doorPort: number;
  /** The topmost layer of each, by name. */
  private disks: Record<string, string>;
  private boots = 0;
  private emulator: ChildProcess | undefined;

  private constructor(system: SystemDisk, disks: Record<string, string>, folder: string, doorPort: number, ports: Ports) {
    this.system = system;
    this.disks = disks;
    this.folder = folder;
    this.doorPort = doorPort;
    this.ports = ports;
  }

  /** As it comes out of the box: off. */
  static async of(release: string): Promise<Machine> {
    const system = await systemDisk(release);
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-machine-'));
    const disks = { system: system.disk, supplies: await suppliesDisk(), spare: join(folder, 'spare') };
    await writeFile(disks.spare, Buffer.alloc(spareBytes));
    const ports = { api: await freePort(), edge: await freePort(), ssh: await freePort() };
    return new Machine(system, disks, folder, await freePort(), ports);
  }

  /** Until it lets somebody in. */
  async boot(): Promise<void> {
    this.boots += 1;
    await this.addLayers();
    // Whatever becomes of the tests: nothing is left running.
    const args = ['--pdeathsig', 'SIGKILL', architecture().emulator, ...this.emulatorArguments()];
    this.emulator = spawn('setpriv', args, { stdio: ['ignore', 'inherit', 'inherit'] });
    await this.untilBooted('');
  }

  /** In order, as its operator does it; until it lets somebody in again. */
  async reboot(): Promise<void> {
    const before = await this.bootId();
    await this.attempt('systemctl reboot', lookSecondsMax);
    await this.untilBooted(before);
  }

  private async untilBooted(before: string) {
    const isUp = async () => {
      if (this.emulator?.exitCode !== null) throw new Error(`The emulator has ended.\n${this.consoleText}`);
      return ![before, ''].includes(await this.bootId());
    };
    await patiently('the machine lets somebody in', isUp, bootSecondsMax, () => this.consoleText);
  }

  /** Another one after each boot; empty while it lets nobody in. */
  async bootId(): Promise<string> {
    return (await this.attempt('cat /proc/sys/kernel/random/boot_id', lookSecondsMax)).stdout.trim();
  }

  /** From one moment to the next, whatever it is doing. */
  async cutPower(): Promise<void> {
    const { emulator } = this;
    if (!emulator) return;
    emulator.kill('SIGKILL');
    await eventually('the emulator is gone', () => emulator.exitCode !== null || emulator.signalCode !== null, endSecondsMax);
    this.emulator = undefined;
  }

  /** A command of its root, to the end; answers what it said. */
  async run(command: string, input: string | Buffer = ''): Promise<string> {
    const { code, stdout, stderr } = await this.attempt(command, commandSecondsMax, input);
    if (code !== 0) throw new Error(`The machine ended \`${command}\` with ${code}:\n${stdout}${stderr}`);
    return stdout.trim();
  }

  attempt(command: string, secondsMax = commandSecondsMax, input: string | Buffer = '') {
    const options = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR', 'ConnectTimeout=20'];
    const args = ['-i', this.system.sshKey, '-p', String(this.doorPort), ...options.flatMap((option) => ['-o', option])];
    return runProgram('ssh', [...args, 'root@127.0.0.1', command], { env: { PATH: process.env['PATH'] ?? '' }, secondsMax, input });
  }

  get consoleText() {
    try {
      return `Its console said:\n${readFileSync(this.consoleFile, 'utf8').slice(-consoleCharactersShown)}`;
    } catch {
      return 'Its console said nothing.';
    }
  }

  private get consoleFile() {
    return join(this.folder, `console-${this.boots}`);
  }

  private async addLayers() {
    for (const [name, below] of Object.entries(this.disks)) {
      const layer = join(this.folder, `${name}-${this.boots}`);
      const format = this.boots === 1 ? 'raw' : 'qcow2';
      await promisify(execFile)('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', below, '-F', format, layer]);
      this.disks[name] = layer;
    }
  }

  private emulatorArguments(): string[] {
    const { board, console } = architecture();
    const { emulatorArguments, kernelArguments } = processorOf(architecture());
    const { api, edge, ssh } = this.ports;
    const forwards = [[this.doorPort, 22], ...[api, edge, ssh].map((port) => [port, port])];
    const network = ['user,id=network,restrict=on', ...forwards.map(([here, there]) => `hostfwd=tcp:127.0.0.1:${here}-:${there}`)];
    const drives = Object.entries(this.disks).flatMap(([name, disk]): [string, string][] => [
      ['-drive', `id=${name},file=${disk},format=qcow2,if=none,cache=writeback,l2-cache-size=${layerTableBytes}`],
      ['-device', `virtio-blk-pci,drive=${name},serial=${name}`],
    ]);
    const patience = `systemd.default_timeout_start_sec=${bootSecondsMax}`;
    const options: [string, string][] = [
      ['-M', board],
      ['-m', String(memoryMegabytes)],
      ['-display', 'none'],
      ['-serial', `file:${this.consoleFile}`],
      ['-kernel', this.system.kernel],
      ['-initrd', this.system.initialRamDisk],
      ['-append', ['root=LABEL=system', 'rw', `console=${console}`, patience, ...kernelArguments].join(' ')],
      ...drives,
      ['-netdev', network.join(',')],
      ['-device', 'virtio-net-pci,netdev=network'],
      ['-device', 'virtio-rng-pci'],
    ];
    return ['-nodefaults', ...emulatorArguments, ...options.flat()];
  }

  async [Symbol.asyncDispose]() {
    await this.cutPower();
    await rm(this.folder, { recursive: true, force: true });
  }
}
