/** Folders that a test works in beside its installations: they go with the last installation of the test's process. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];
let installations = 0;

export async function makeWorkingFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-e2e-copy-'));
  folders.push(folder);
  return folder;
}

export function installationBegins() {
  installations += 1;
}

export async function installationEnds() {
  installations -= 1;
  if (installations > 0) return;
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
