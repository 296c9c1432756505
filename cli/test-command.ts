/** Operator commands with the settings that a test gives them: in this process, which is quick, or in one of their own, which can be killed. */
import { sql, type RawBuilder } from 'kysely';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import type { Db } from '../server/kernel/sql.ts';

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
const endedMillisecondsMax = 10_000;

/** What a command needs before it is through: who has it first decides how far the command comes, however late the kill is. */
export interface Barrier {
  db: Db;
  lock: RawBuilder<unknown>;
}

/** Kills a command that cannot finish before it is killed; the last statement that it sent to the database is not carried out after its death. */
export async function killedBefore(
  { db, lock }: Barrier,
  isSo: () => Promise<boolean>,
  args: readonly string[],
  settings: Settings,
  input = '',
) {
  const url = new URL(settings['DATABASE_URL'] ?? '');
  url.searchParams.set('application_name', 'killed');
  return db.transaction().execute(async (tx) => {
    await lock.execute(tx);
    const isKilled = await killedWhen(isSo, args, { ...settings, DATABASE_URL: url.href }, input);
    await sql`select pg_terminate_backend(pid, ${endedMillisecondsMax}) from pg_stat_activity
      where datname = current_database() and application_name = 'killed'`.execute(tx);
    return isKilled;
  });
}

/** `kill -9` in the moment that something is so; false where the command was through before. Throws what a command said that failed by itself. */
async function killedWhen(isSo: () => Promise<boolean>, args: readonly string[], settings: Settings, input: string): Promise<boolean> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
  const env = { PATH, HOME, NODE_COMPILE_CACHE, ...settings };
  const child = spawn(process.execPath, [main, ...args], { cwd: tmpdir(), env, stdio: ['pipe', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (said += text));
  const { promise: ended, resolve, reject } = Promise.withResolvers<boolean>();
  child
    .once('error', reject)
    .once('close', (code) => (code ? reject(new Error(`It ended with ${code}: ${said}`)) : resolve(code === null)));
  // The caller may not be waiting for it yet; then it is no unhandled rejection.
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
