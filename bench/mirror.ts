/**
 * What it takes to follow a code host, on a whole platform: a repository of ten thousand commits from the moment of connecting, against `git clone --mirror` of the same from
 * the same server; and a push there up to the reply of its environment, against the same push made directly.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createInstallation, plainHttp } from '../e2e/installation.ts';
import { firstPerson, openProject, type Project } from '../e2e/open-project.ts';
import { visit } from '../e2e/visit.ts';
import { testToken } from '../server/drivers/code-hosts/test-host.ts';
import { openMirroredHost, type MirroredHost } from '../server/rooms/integrations/code-hosts/test-mirrored-host.ts';
import { median } from './harness/platform.ts';
import { note, printTable, timed } from './harness/verdicts.ts';

const commits = 10_000;
const mirrorRounds = 5;
const pushRounds = 5;
const targets = { mirrorMax: 1.5, laterSecondsMax: 1 };
const pollMilliseconds = 10;
/** Each look at an environment takes of the processors that Git works with, so there are few of them; when it was there is read from its activity. */
const lookMilliseconds = 200;
const replySecondsMax = 120;
const run = promisify(execFile);

const saying = (version: string): Record<string, string> => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    web: {commands: {start: node server.js}}
routes:
  https://{default}/: {type: upstream, upstream: 'app:http'}
`,
  'server.js': `require('node:http').createServer((_, reply) => reply.end('${version}')).listen(process.env.PORT);\n`,
});

await using installation = await createInstallation({ ...plainHttp, OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
const person = await firstPerson(installation.url, await installation.start());

async function untilAnswered(address: string, expected: string) {
  const deadline = performance.now() + replySecondsMax * 1000;
  while ((await visit(address).catch(() => undefined))?.text !== expected) {
    if (performance.now() > deadline) throw new Error(`${address} does not answer ${expected}`);
    await sleep(pollMilliseconds);
  }
}

/** Each commit changes one of a hundred files. */
function fill({ repository, state }: MirroredHost) {
  const stream: string[] = [];
  for (let number = 1; number <= commits; number += 1) {
    const [text, file] = [`${number} ${'line '.repeat(40)}\n`, `folder-${number % 10}/file-${number % 100}.txt`];
    stream.push(
      `commit refs/heads/main\nmark :${number}\ncommitter Ada <ada@example.org> ${1_700_000_000 + number} +0000\ndata 6\nChange\n${number > 1 ? `from :${number - 1}\n` : ''}M 100644 inline ${file}\ndata ${text.length}\n${text}\n`,
    );
  }
  execFileSync('git', ['--git-dir', repository, 'fast-import', '--quiet', '--force'], { input: stream.join('') });
  execFileSync('git', ['--git-dir', repository, 'gc', '--quiet']);
  const head = execFileSync('git', ['--git-dir', repository, 'rev-parse', 'refs/heads/main'], { encoding: 'utf8' }).trim();
  state.branches.set('main', head);
  return head;
}

async function measureMirror() {
  const host = await openMirroredHost('github');
  const scratch = mkdtempSync(join(tmpdir(), 'offshoot-bench-mirror-'));
  try {
    const head = fill(host);
    const address = `${host.origin.replace('//', `//x:${testToken}@`)}/acme/shop.git`;
    const [ours, cloned] = [[] as number[], [] as number[]];
    // The host is served by this process, which must not stand still meanwhile.
    const clone = (name: string) => timed(() => run('git', ['clone', '--quiet', '--mirror', address, join(scratch, name)]));
    for (let round = 0; round < mirrorRounds; round += 1) {
      // One before and one after: the machine is not ours alone.
      const before = await clone(`${round}-before`);
      const project = await openProject(person);
      const isThere = async () => (await project.environment('main')).head_commit === head;
      const begunAt = Date.now();
      await project.api('POST', '/integrations', { ...host.body, build_pull_requests: false });
      while (!(await isThere())) await sleep(lookMilliseconds);
      ours.push((Date.parse((await project.lastActivity('main')).created_at) - begunAt) / 1000);
      cloned.push((before + (await clone(`${round}-after`))) / 2);
    }
    const ratio = median(ours.map((seconds, round) => seconds / (cloned[round] ?? 0)));
    note({
      what: `a repository of ${commits} commits, from connecting to its environment, against git clone --mirror`,
      measured: `${ratio.toFixed(2)} (${median(ours).toFixed(2)} and ${median(cloned).toFixed(2)} s)`,
      target: `at most ${targets.mirrorMax}`,
      isMet: ratio <= targets.mirrorMax,
    });
  } finally {
    host.closeHost();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** As the host calls: to the address that it was given. */
async function tell(host: MirroredHost) {
  const [hook] = [...host.state.hooks.values()] as { config: { url: string; secret: string } }[];
  if (!hook) throw new Error('The host has no webhook yet');
  const pushed = { kind: 'ref', ref: 'refs/heads/main', commit: host.state.branches.get('main') } as const;
  const { headers, body } = host.deliver(pushed, hook.config.secret);
  await fetch(hook.config.url, { method: 'POST', headers: headers as Record<string, string>, body: new Uint8Array(body) });
}

const addressOf = async (project: Project) => `http://${(await project.environment('main')).edge_hostname}:${installation.edgePort}/`;

async function measurePushes() {
  const host = await openMirroredHost('github');
  try {
    const [direct, followed] = [await openProject(person), await openProject(person)];
    await direct.write(saying('0'), 'First');
    await direct.push('main');
    host.commit('main', saying('0'));
    await followed.api('POST', '/integrations', host.body);
    const [directly, byHost] = [await addressOf(direct), await addressOf(followed)];
    await Promise.all([untilAnswered(directly, '0'), untilAnswered(byHost, '0')]);
    while (host.state.hooks.size === 0) await sleep(pollMilliseconds);
    const [own, theirs] = [[] as number[], [] as number[]];
    for (let round = 1; round <= pushRounds; round += 1) {
      await direct.write(saying(String(round)), 'Next');
      own.push(await timed(() => Promise.all([direct.push('main'), untilAnswered(directly, String(round))])));
      host.commit('main', saying(String(round)));
      theirs.push(await timed(() => Promise.all([tell(host), untilAnswered(byHost, String(round))])));
      await Promise.all([direct.lastActivity('main'), followed.lastActivity('main')]);
    }
    const later = median(theirs) - median(own);
    note({
      what: 'a push at the host, to the reply, beside the same push made directly',
      measured: `${later.toFixed(2)} s later (${median(theirs).toFixed(2)} and ${median(own).toFixed(2)} s)`,
      target: `at most ${targets.laterSecondsMax} s`,
      isMet: later <= targets.laterSecondsMax,
    });
  } finally {
    host.closeHost();
  }
}

await measureMirror();
await measurePushes();
printTable();
