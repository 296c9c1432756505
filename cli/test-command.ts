/** Operator commands with the settings that a test gives them: in this process, which is quick, or in one of their own, which can be killed. */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';

export type Settings = Record<string, string>;

/** What it says on standard output; what it is refused with is thrown. */
export async function withSettings(settings: Settings, command: () => Promise<void>): Promise<string> {
  const said: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line) => void said.push(String(line)));
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  try {
    await command();
    return said.join('\n');
  } finally {
    vi.unstubAllEnvs();
    log.mockRestore();
  }
}

const main = join(import.meta.dirname, 'main.ts');
const lookMilliseconds = 2;

/** `kill -9` in the moment that something is so; false where the command was through before. Throws what a command said that failed by itself. */
export async function killedWhen(isSo: () => Promise<boolean>, args: readonly string[], settings: Settings, input = ''): Promise<boolean> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...settings };
  const child = spawn(process.execPath, [main, ...args], { cwd: tmpdir(), env, stdio: ['pipe', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (said += text));
  const { promise: ended, resolve, reject } = Promise.withResolvers<boolean>();
  child
    .once('error', reject)
    .once('close', (code) => (code ? reject(new Error(`It ended with ${code}: ${said}`)) : resolve(code === null)));
  // Whoever waits for it may still be looking.
  ended.catch(() => undefined);
  child.stdin.on('error', () => undefined).end(input);
  try {
    while (child.exitCode === null && child.signalCode === null) {
      if (await isSo()) child.kill('SIGKILL');
      await sleep(lookMilliseconds);
    }
    return await ended;
  } finally {
    child.kill('SIGKILL');
  }
}
