/** What differs between the processors of machines. A machine always has the processor of the one that runs the tests: its packages and images are at hand. */
import { accessSync, constants, readFileSync } from 'node:fs';

export interface Architecture {
  emulator: string;
  board: string;
  /** As Debian calls the kernel for machines of this kind. */
  kernelPackage: string;
  console: string;
  /** What is emulated where the processor itself does not help. */
  emulatedProcessor: string;
  /** How /proc/cpuinfo of a processor looks that runs any kernel at its own speed. */
  virtualizes: RegExp;
}

const architectures: Record<string, Architecture> = {
  x64: {
    emulator: 'qemu-system-x86_64',
    board: 'q35',
    kernelPackage: 'linux-image-cloud-amd64',
    console: 'ttyS0',
    // Node ends at once on newer ones: it takes their protection keys for real, and the emulation of those is not complete.
    emulatedProcessor: 'Nehalem',
    // Some machines have a /dev/kvm that runs only kernels made for it.
    virtualizes: /^flags\b.*\b(vmx|svm)\b/m,
  },
  arm64: {
    emulator: 'qemu-system-aarch64',
    board: 'virt',
    kernelPackage: 'linux-image-cloud-arm64',
    console: 'ttyAMA0',
    emulatedProcessor: 'cortex-a72',
    virtualizes: /^/,
  },
};

export function architecture(): Architecture {
  const found = architectures[process.arch];
  if (!found) throw new Error(`There are no machines for ${process.arch}.`);
  return found;
}

export interface Processor {
  emulatorArguments: string[];
  kernelArguments: string[];
}

const processorsWithHelp = 2;
/** Emulated ones hold each other up whenever one of them writes code, which Node's compiler does all the time. */
const processorsEmulated = 1;

/** Without KVM everything is done by emulation, about ten times slower. */
export function processorOf({ virtualizes, emulatedProcessor }: Architecture): Processor {
  if (hasKvm(virtualizes))
    return { emulatorArguments: ['-accel', 'kvm', '-cpu', 'host', '-smp', String(processorsWithHelp)], kernelArguments: [] };
  const emulation = `tcg,thread=multi,tb-size=${translationMegabytes}`;
  // What guards a real processor against its own faults has nothing to guard here, and makes each call of the kernel cost many times as much.
  const emulatorArguments = ['-accel', emulation, '-cpu', emulatedProcessor, '-smp', String(processorsEmulated)];
  return { emulatorArguments, kernelArguments: ['mitigations=off', ...clockArguments()] };
}

/**
 * A kernel that measures the emulated counter of cycles, which is the one of the processor below, finds it unreliable; without it each look at the clock is a
 * conversation with the emulator.
 */
function clockArguments(): string[] {
  const [, megahertz] = /^cpu MHz\s*:\s*(\d+\.\d+)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8')) ?? [];
  return megahertz === undefined ? [] : [`tsc_early_khz=${Math.round(Number(megahertz) * 1000)}`, 'tsc=reliable'];
}

/** Room for what was translated: more than the programs of a whole platform have. */
const translationMegabytes = 1024;

function hasKvm(virtualizes: RegExp): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return virtualizes.test(readFileSync('/proc/cpuinfo', 'utf8'));
  } catch {
    return false;
  }
}
