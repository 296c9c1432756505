/** Processes that have certificates for a platform, as it does itself, and that are killed meanwhile: `node test-obtainer.ts <asked>`, once it is told to go. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { readConfig } from '../../config.ts';
import { openEdge, type EdgeOptions } from '../../drivers/edge/open-edge.ts';
import { openLog } from '../../kernel/log.ts';
import { openNotices } from '../../kernel/notices.ts';
import { nudge, startReconcilers } from '../../kernel/reconciler.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { openDatabase, openPool } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { openOwnAuthority } from './own-authority.ts';
import { keepCertificates, obtainCertificates, tellCertificates } from './reconcilers.ts';

export interface AskedOfObtainer {
  databaseUrl: string;
  /** The secret key, in hexadecimal. */
  key: string;
  /** One that runs, and stays. */
  edge: EdgeOptions;
  settings: Record<string, string>;
}

const compileCache = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'node');

/** Loads the process ahead of time, so that it begins at once when it is told to go. `trusts`: a file of authorities, as PEM. */
export function loadObtainer(asked: AskedOfObtainer, trusts: string) {
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache, NODE_EXTRA_CA_CERTS: trusts };
  const child = spawn(process.execPath, [import.meta.filename, JSON.stringify(asked)], { stdio: ['pipe', 'inherit', 'inherit'], env });
  child.stdin.on('error', () => {});
  const ended = once(child, 'exit');
  return {
    go: () => void child.stdin.write('go\n'),
    /** Answers by which signal it has ended: by none where it had ended by itself. */
    kill: async (): Promise<string | null> => {
      child.kill('SIGKILL');
      await ended;
      return child.signalCode;
    },
  };
}

const againMilliseconds = 100;

async function obtain({ databaseUrl, key, edge: options, settings }: AskedOfObtainer): Promise<void> {
  const log = openLog('fatal');
  const edge = await openEdge(options, log);
  const config = readConfig(settings);
  const parts = { config, db: openDatabase(openPool(databaseUrl)), secrets: openSecrets([Buffer.from(key, 'hex')]), log };
  const authority = await openOwnAuthority(parts);
  const notices = await openNotices(databaseUrl, log);
  const platform = { ...parts, authority, notices, edge: () => Promise.resolve(edge) } as unknown as Platform;
  startReconcilers([keepCertificates, obtainCertificates, tellCertificates], platform);
  setInterval(() => void nudge(platform.db, obtainCertificates), againMilliseconds);
}

if (import.meta.main) {
  // When the parent process ends, this one ends, too.
  process.stdin.once('end', () => process.exit());
  // Node usually writes its compile cache at exit, which this process will not live to see.
  flushCompileCache();
  await once(process.stdin, 'data');
  await obtain(JSON.parse(process.argv[2] ?? '') as AskedOfObtainer);
}
