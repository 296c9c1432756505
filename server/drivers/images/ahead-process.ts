/**
 * Brings images ahead in a process group of its own at the lowest priority, from which all that builds them is started: with one call the whole group is as quick
 * as others, when somebody waits for what it builds. It dies with the platform. Standard input: what to bring, and where, as JSON.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { json } from 'node:stream/consumers';
import { Problem } from '../../kernel/problem.ts';
import { openImages } from './cached-images.ts';
import type { ImageTypes } from './image-types.ts';

export interface AheadTask {
  folder: string;
  types: readonly string[];
  catalogue: ImageTypes;
  authorities: readonly string[];
}

const paces = {
  idle: { nice: '19', io: ['--class', '3'] },
  usual: { nice: '0', io: ['--class', '2', '--classdata', '4'] },
};

/** Where the machine does not allow a change of pace, the process goes on at its own. */
function setPace({ nice, io }: (typeof paces)['idle']) {
  spawnSync('renice', ['--priority', nice, '--pgrp', String(process.pid)], { stdio: 'ignore' });
  spawnSync('ionice', [...io, '--pgid', String(process.pid)], { stdio: 'ignore' });
  // Kernels that share processors out by session first, as those of Debian, compare only this.
  if (existsSync('/proc/self/autogroup')) writeFileSync('/proc/self/autogroup', nice);
}

const { folder, types, catalogue, authorities } = (await json(process.stdin)) as AheadTask;
setPace(paces.idle);
try {
  await openImages(folder, catalogue, { authorities }).bringAhead(
    types,
    { say: (line) => console.log(line), hurry: (isWaitedFor) => setPace(isWaitedFor ? paces.usual : paces.idle) },
    new AbortController().signal,
  );
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
