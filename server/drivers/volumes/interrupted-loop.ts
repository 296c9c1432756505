/** Run by a test that kills it: makes, copies, restores and removes volumes without end, and says what it has begun and what it has done. */
import { writeSync } from 'node:fs';
import { openPoolVolumes } from './btrfs/btrfs.ts';
import { openCopyVolumes } from './copy/copy.ts';

const [way, folder = '', prefix = ''] = process.argv.slice(2);
const volumes = way === 'pool' ? await openPoolVolumes(folder, () => {}) : await openCopyVolumes(folder);
const say = (sentence: string) => writeSync(1, `${sentence}\n`);
const roundsMax = 10_000;
const bytesMax = 64 * 1024 ** 2;

const rounds = async (lane: string) => {
  for (let n = 0; n < roundsMax; n += 1) {
    const [created, cloned, moment] = ['created', 'cloned', 'moment'].map((what) => `${prefix}-${lane}-${what}-${n}`) as [
      string,
      string,
      string,
    ];
    await volumes.create(created, bytesMax);
    say(`is ${created}`);
    await volumes.clone('base', cloned);
    say(`is ${cloned}`);
    await volumes.snapshot(cloned, moment);
    say(`is ${moment}`);
    await volumes.restore(cloned, moment);
    for (const name of [created, cloned, moment]) {
      say(`goes ${name}`);
      await volumes.remove(name);
      say(`gone ${name}`);
    }
  }
};
say('ready');
await Promise.all(['a', 'b'].map(rounds));
