/**
 * Each template of examples/templates as somebody uses it who starts from it: pushed, visited, written to, branched with its data, and pushed again. What the second
 * push of an unchanged lock file receives from outside is counted, and times are told in a table at the end.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../server/testing/images.ts';
import { templates } from '../../server/testing/templates.ts';
import { createInstallation, plainHttp, repository, type Installation } from '../installation.ts';
import { firstPerson, openProject, type Person, type Project } from '../open-project.ts';
import { countDownloads } from './downloads.ts';
import { pageOf, submit } from './visit-template.ts';

/** `./offshoot test templates django fastapi` tries these two. */
const names = (process.env['OFFSHOOT_TEMPLATES'] ?? '').split(' ').filter(Boolean);
const chosen = Object.entries(templates).filter(([name]) => names.length === 0 || names.includes(name));

interface Measured {
  template: string;
  first: Push;
  second: Push;
  other: Push;
}

interface Push {
  seconds: number;
  bytes: number;
}

let installation: Installation;
let person: Person;
let downloads: Awaited<ReturnType<typeof countDownloads>>;
const measured: Measured[] = [];

beforeAll(async () => {
  if (!canRunContainers) return;
  installation = await createInstallation(plainHttp);
  person = await firstPerson(installation.url, await installation.start());
  // The machine is opened by the first push; what that takes belongs to no template.
  const files = await openProject(person);
  await files.copyFrom(join(repository, 'examples', 'static-site'), 'First');
  await files.push('main');
  downloads = await countDownloads(installation.data);
});
afterAll(async () => {
  await downloads?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
  console.log(tableOf(measured));
});

describe.runIf(canRunContainers)(`templates${whyNoContainers}`, () => {
  test.for(chosen)(
    '%s runs with its data, branches with it, and downloads nothing for the second push',
    async ([name, { page = '/', seeded, action = page, fields, written }]) => {
      const folder = join(repository, 'examples', 'templates', name);
      const project = await openProject(person);
      await project.copyFrom(folder, 'First');
      const first = await pushed(project);
      const main = await project.address('main');
      const before = await pageOf(main, page);
      expect(before).toContain(seeded);
      expect(before).not.toContain(written);
      await submit(main, page, action, fields);
      expect(await pageOf(main, page)).toContain(written);

      await project.act('/environments/main/branch', { name: 'trial' });
      const trial = await project.address('trial');
      expect(await pageOf(trial, page)).toContain(written);
      const onTrial = (words: string) => (/^\d|\?$/.test(words) ? words : `${words} of the trial`);
      const changed = Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, onTrial(value)]));
      await submit(trial, page, action, changed);
      expect(await pageOf(trial, page)).toContain('of the trial');
      expect(await pageOf(main, page)).not.toContain('of the trial');

      await project.write({ 'README.md': `${readFileSync(join(folder, 'README.md'), 'utf8')}\nOurs.\n` }, 'Second');
      const second = await pushed(project);
      expect(second.said).not.toContain('Reusing existing build');
      if (second.bytes > 0) console.log(second.said);
      expect(second.bytes).toBe(0);
      expect(await pageOf(main, page)).toContain(written);

      const another = await openProject(person);
      await another.copyFrom(folder, 'First');
      const other = await pushed(another);
      expect(await pageOf(await another.address('main'), page)).toContain(seeded);
      measured.push({ template: name, first, second, other });
      console.log(tableOf(measured.slice(-1)));
    },
  );
});

/** Until it is deployed, as whoever pushes waits for it. */
async function pushed(project: Project): Promise<Push & { said: string }> {
  const [bytes, begun] = [await downloads.bytes(), performance.now()];
  const said = await project.push('main');
  const push = { seconds: (performance.now() - begun) / 1000, bytes: (await downloads.bytes()) - bytes, said };
  if (!(await project.environment('main')).has_deployment) throw new Error(`It was not deployed:\n${said}`);
  return push;
}

function tableOf(rows: readonly Measured[]): string {
  const cells = ({ seconds, bytes }: Push) => `${seconds.toFixed(1)} s, ${(bytes / 1e6).toFixed(1)} MB`;
  const lines = rows.map(
    ({ template, first, second, other }) => `| ${[template, cells(first), cells(second), cells(other)].join(' | ')} |`,
  );
  return ['| Template | First push | Second push | Another project |', '| --- | --- | --- | --- |', ...lines].join('\n');
}
