import { beforeAll, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles, git } from '../../testing/repository.ts';
import { sampleOrganization, sampleProject } from '../../testing/samples.ts';
import { readModel } from './read-model.ts';
import { fetchSubmodules, projectAt } from './submodules.ts';

let home: TestPlatform;
let owner: Person;
let organization: string;
let project: string;
let library: string;
const pathOf = (id: string) => home.platform.git.path(id);

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person({ strong: true });
  ({ organization_id: organization } = await sampleOrganization(owner));
  ({ projectId: library } = await sampleProject(owner, organization));
  ({ projectId: project } = await sampleProject(owner, organization));
});

let versions = 0;
/** On the main branch of a project, each time another. */
function published(id: string, files: Record<string, string> = {}): string {
  const commit = commitFiles(pathOf(id), undefined, { version: String((versions += 1)), ...files });
  git(pathOf(id), ['update-ref', 'refs/heads/main', commit]);
  return commit;
}

const listOf = (path: string, url: string) => `[submodule "x"]\n\tpath = ${path}\n\turl = ${url}\n`;
const commitWith = (url: string, submodule: string, files: Record<string, string> = {}) =>
  commitFiles(pathOf(project), undefined, { '.gitmodules': listOf('lib', url), ...files }, 'Change', { lib: submodule });

async function fetched(commit: string, userId: string | undefined, into = project): Promise<string[]> {
  const lines: string[] = [];
  const activity = { project_id: into, parameters: userId === undefined ? {} : { user: userId } };
  const { signal } = new AbortController();
  await fetchSubmodules(home.platform, { activity, commit, log: (line) => void lines.push(line), signal });
  return lines;
}

test('the configuration of an app that is a submodule is read as if its files were in the commit', async () => {
  const submodule = published(library, { 'build.sh': 'make\n' });
  const yaml =
    'applications:\n  shop:\n    type: nodejs:22\n    source: {root: lib}\n    hooks: {build: !include {type: string, path: build.sh}}\n';
  const commit = commitWith(`../${library}.git`, submodule, { '.upsun/config.yaml': yaml });
  await expect(readModel(home.platform, project, commit)).rejects.toThrow("The submodule 'lib' cannot be fetched");
  expect(await fetched(commit, owner.user.id)).toEqual([
    'Validating submodules',
    `  Fetching submodule lib: ${submodule.slice(0, 7)} of the project ${library}`,
  ]);
  const found = await readModel(home.platform, project, commit);
  expect(found?.model.applications['shop']).toMatchObject({ source: { root: '/lib' }, hooks: { build: 'make\n' } });
  expect(await fetched(commitFiles(pathOf(project), undefined, { a: '1' }), owner.user.id)).toEqual([]);
});

test('another project is a submodule only for those who may see all of it; what was fetched once is there for everybody', async () => {
  const refused = `The submodule 'lib' cannot be fetched: there is no project ${library} in the same organization that the person who started this may see in full.`;
  const commit = commitWith(`../${library}.git`, published(library));
  const member = await home.person();
  await owner.send('POST', `/organizations/${organization}/members`, { user_id: member.user.id });
  const grant = (permissions: string[]) =>
    owner.send('POST', `/projects/${library}/user-access`, [{ user_id: member.user.id, permissions }]);
  await expect(fetched(commit, undefined)).rejects.toThrow(refused);
  await expect(fetched(commit, 'nobody')).rejects.toThrow(refused);
  await expect(fetched(commit, member.user.id)).rejects.toThrow(refused);
  await grant(['development:admin', 'staging:viewer']);
  await expect(fetched(commit, member.user.id)).rejects.toThrow(refused);
  await owner.send('PATCH', `/projects/${library}/user-access/${member.user.id}`, {
    permissions: ['development:admin', 'staging:viewer', 'production:viewer'],
  });
  await home.platform.db.updateTable('users').set({ deactivated: true }).where('id', '=', member.user.id).execute();
  await expect(fetched(commit, member.user.id)).rejects.toThrow(refused);
  await home.platform.db.updateTable('users').set({ deactivated: false }).where('id', '=', member.user.id).execute();
  expect((await fetched(commit, member.user.id)).at(-1)).toContain('Fetching submodule lib');
  expect((await fetched(commit, undefined)).at(-1)).toContain('which was fetched before');

  // Not even for its owner across organizations: one may ask for more than the other before it lets somebody in.
  const { projectId: elsewhere } = await sampleProject(owner);
  const there = commitFiles(pathOf(elsewhere), undefined, { '.gitmodules': listOf('lib', `../${library}`) }, 'Change', {
    lib: published(library),
  });
  await expect(fetched(there, owner.user.id, elsewhere)).rejects.toThrow(refused);
  await expect(fetched(commitWith('../absent.git', published(library)), owner.user.id)).rejects.toThrow('there is no project absent');
});

test('a team lets its members in', async () => {
  const commit = commitWith(`../${library}.git`, published(library));
  const member = await home.person();
  await owner.send('POST', `/organizations/${organization}/members`, { user_id: member.user.id });
  const { json: team } = await owner.send('POST', '/teams', {
    organization_id: organization,
    label: 'Readers',
    project_permissions: ['admin'],
  });
  await owner.send('POST', `/teams/${team.id}/members`, { user_id: member.user.id });
  await expect(fetched(commit, member.user.id)).rejects.toThrow('cannot be fetched');
  await owner.send('POST', `/projects/${library}/team-access`, [{ team_id: team.id }]);
  expect((await fetched(commit, member.user.id)).at(-1)).toContain('Fetching submodule lib');
});

test.each<[string, string | undefined]>([
  ['https://offshoot.example:8080/git/abc123.git', 'abc123'],
  ['https://token:x@offshoot.example:8080/git/abc123', 'abc123'],
  ['abc123@git.apps.example:abc123.git', 'abc123'],
  ['ssh://abc123@offshoot.example:2222/abc123.git', 'abc123'],
  ['ssh://git@ssh.apps.example/abc123.git', 'abc123'],
  ['https://offshoot.example/git/abc123.git', undefined],
  ['https://offshoot.example:8080/git/abc123/x.git', undefined],
  ['https://offshoot.example:8080/other/abc123.git', undefined],
  ['https://github.com/git/abc123.git', undefined],
  ['git@github.com:abc123.git', undefined],
  ['../abc123.git', undefined],
  ['file:///abc123.git', undefined],
])('%s is of the project %s', (url, expected) => {
  expect(projectAt(url, { url: 'https://offshoot.example:8080', domain: 'apps.example' })).toBe(expected);
});
