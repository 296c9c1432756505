/** One platform for all tests of a file, because starting one costs more than most of them do. Each test works with people, organizations and projects of its own. */
import { afterAll, beforeAll } from 'vitest';
import { createInstallation, type Installation, type Settings } from './installation.ts';
import type { Credentials } from './running-platform.ts';

const startMillisecondsMax = 240_000;

export interface SharedInstallation {
  readonly installation: Installation;
  /** Of the person whom the first start shows. */
  readonly credentials: Credentials;
}

/** To be called where a file declares its tests; what it answers is there as soon as the first of them begins. */
export function sharedInstallation(settings?: Settings): SharedInstallation {
  let installation: Installation | undefined;
  let credentials: Credentials | undefined;
  beforeAll(async () => {
    installation = await createInstallation(settings);
    credentials = await (await installation.start()).credentials();
  }, startMillisecondsMax);
  afterAll(() => installation?.[Symbol.asyncDispose](), startMillisecondsMax);
  return {
    get installation() {
      return started(installation);
    },
    get credentials() {
      return started(credentials);
    },
  };
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('The platform of this file has not been started yet.');
  return part;
}
