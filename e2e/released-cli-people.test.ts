import { expect, test } from 'vitest';
import { accessToken, send } from './api.ts';
import type { Installation } from './installation.ts';
import { letterTo } from './mail.ts';
import { openReleasedCli } from './released-cli.ts';
import { sharedInstallation } from './shared-installation.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 600_000;

const shared = sharedInstallation();

test('the released CLI creates an organization, shows it, lists its users and invites one', async () => {
  const { installation, credentials } = shared;
  const { apiToken, email } = credentials;
  const { url, data } = installation;
  const token = await accessToken(url, apiToken);
  await using cli = await openReleasedCli(url);
  const run = (...args: string[]) => cli.run(args, apiToken);

  const create = ['organization:create', '--label', 'Analytical Engines', '--name', 'engines', '--country', 'United Kingdom', '--yes'];
  const created = await run(...create);
  expect(created).toMatchObject({ code: 0, stderr: expect.stringContaining('Created organization Analytical Engines (engines)') });
  const organization = (await send(url, token, 'GET', '/organizations/name%3Dengines')).json;
  expect(organization).toMatchObject({ name: 'engines', label: 'Analytical Engines', country: 'GB', type: 'flexible' });
  expect(created.stderr).toContain(organization.id);
  const again = await run(...create);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('An organization already exists with the same name: engines') });

  const listed = await run('organization:list');
  expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining('Organizations you own or belong to:') });
  expect(cellsOf(listed.stdout)).toEqual([
    ['Name', 'Label', 'Type', 'Owner email'],
    ['engines', 'Analytical Engines', 'flexible', email],
  ]);
  const info = await run('organization:info', '--org', 'engines');
  expect(info.code).toBe(0);
  expect(cellsOf(info.stdout)).toEqual(
    expect.arrayContaining([
      ['id', organization.id],
      ['label', 'Analytical Engines'],
      ['country', 'GB'],
      ['status', 'active'],
    ]),
  );

  const grace = await createUser(installation, 'grace@example.org');
  const members = `/organizations/${organization.id}/members`;
  expect((await send(url, token, 'POST', members, { user_id: grace, permissions: ['members'] })).status).toBe(201);
  const users = await run('organization:user:list', '--org', 'engines', '--format', 'plain', '--columns', 'email,owner,permissions');
  expect(users).toMatchObject({ code: 0 });
  expect(users.stdout.split('\n').slice(1, 3)).toEqual([
    expect.stringContaining(`${email}\ttrue`),
    expect.stringMatching(/^grace@example.org\tfalse\t.*members/),
  ]);

  const invite = ['organization:user:add', '--org', 'engines', 'linus@example.org', '--permission', 'billing,projects:create', '--yes'];
  expect(await run(...invite)).toMatchObject({ code: 0, stderr: expect.stringContaining('successfully invited to the organization') });
  const { text } = await letterTo(data, 'linus@example.org', /invites you to the organization Analytical Engines$/);
  expect(text).toContain(`${url}/accept-invitation?token=`);
  expect((await send(url, token, 'GET', `/organizations/${organization.id}/invitations`)).json).toMatchObject([
    { email: 'linus@example.org', state: 'pending', permissions: ['billing', 'projects:create'] },
  ]);
});

test('the released CLI creates a team, adds a member of the organization, lists it and deletes it', async () => {
  const { installation, credentials } = shared;
  const { apiToken } = credentials;
  const { url } = installation;
  const token = await accessToken(url, apiToken);
  await using cli = await openReleasedCli(url);
  const run = (...args: string[]) => cli.run(args, apiToken);
  const organization = (await send(url, token, 'POST', '/organizations', { label: 'Looms', name: 'looms' })).json;
  const ada = await createUser(installation, 'ada@example.org');
  expect((await send(url, token, 'POST', `/organizations/${organization.id}/members`, { user_id: ada })).status).toBe(201);

  const roles = ['--role', 'viewer,staging:contributor'];
  const created = await run('team:create', '--org', 'looms', '--label', 'Designers', ...roles, '--output-id', '--yes');
  expect(created).toMatchObject({ code: 0, stderr: expect.stringContaining('Created team Designers (') });
  const id = created.stdout.trim();
  const team = () => send(url, token, 'GET', `/teams/${id}`);
  expect(await team()).toMatchObject({
    status: 200,
    json: { organization_id: organization.id, label: 'Designers', project_permissions: ['viewer', 'staging:contributor'] },
  });

  const stranger = await run('team:user:add', '--team', id, 'nobody@example.org', '--yes');
  expect(stranger).toMatchObject({ code: 1, stderr: expect.stringContaining('was not found in the organization Looms (looms)') });
  const added = await run('team:user:add', '--team', id, 'ada@example.org', '--yes');
  expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('The user was successfully added to the team Designers') });
  expect((await send(url, token, 'GET', `/teams/${id}/members`)).json.items).toMatchObject([{ team_id: id, user_id: ada }]);

  const listed = await run('team:list', '--org', 'looms', '--columns', 'id,label,member_count,project_count');
  expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining('Teams in the organization Looms (looms):') });
  expect(cellsOf(listed.stdout)).toEqual([
    ['ID', 'Label', '# Users', '# Projects'],
    [id, 'Designers', '1', '0'],
  ]);

  const removed = await run('team:user:delete', '--team', id, 'ada@example.org', '--yes');
  expect(removed).toMatchObject({ code: 0, stderr: expect.stringContaining('removed from the team') });
  expect((await send(url, token, 'GET', `/teams/${id}/members`)).json.items).toEqual([]);
  expect(await run('team:delete', '--team', id, '--yes')).toMatchObject({ code: 0, stderr: expect.stringContaining('was deleted.') });
  expect((await team()).status).toBe(404);
  expect((await send(url, token, 'GET', `/organizations/${organization.id}/members/${ada}`)).status).toBe(200);
});

test(
  'the released CLI shows and changes who pays, and says of a suspended organization what is the matter',
  { timeout: flowMilliseconds },
  async () => {
    const { installation, credentials } = shared;
    const { apiToken, email } = credentials;
    const { url, data } = installation;
    const token = await accessToken(url, apiToken);
    await using cli = await openReleasedCli(url);
    const run = (...args: string[]) => cli.run(args, apiToken);
    const well = async (...args: string[]) => {
      const ended = await run(...args);
      expect({ args, ...ended }).toMatchObject({ code: 0 });
      return ended;
    };
    const organization = (await send(url, token, 'POST', '/organizations', { label: 'Mills', name: 'mills', country: 'GB' })).json;

    const address = ['organization:billing:address', '--org', 'mills'];
    await well(...address, 'locality', 'London');
    expect((await well(...address, 'locality')).stdout).toBe('London\n');
    expect(cellsOf((await well(...address)).stdout)).toEqual(
      expect.arrayContaining([
        ['locality', 'London'],
        ['country', 'GB'],
      ]),
    );
    const profile = ['organization:billing:profile', '--org', 'mills'];
    await well(...profile, 'company_name', 'Water Mills Ltd');
    expect(cellsOf((await well(...profile)).stdout)).toEqual(
      expect.arrayContaining([
        ['company_name', 'Water Mills Ltd'],
        ['email', email],
      ]),
    );

    const made = await send(url, token, 'POST', `/organizations/${organization.id}/projects`, { region: 'offshoot', title: 'Shop' });
    const { id: project, subscription_id } = made.json;
    await expect
      .poll(async () => (await send(url, token, 'GET', `/projects/${project}`)).json.status?.code, { timeout: 30_000 })
      .toBe('provisioned');
    expect((await well('subscription:info', '-p', project, 'status')).stdout).toBe('active\n');
    expect((await well('project:info', '-p', project, 'title')).stdout).toBe('Shop\n');
    const list = ['organization:subscription:list', '--org', 'mills', '--format', 'plain', '--no-header', '--columns', 'id,project_id'];
    expect((await well(...list)).stdout).toContain(`${subscription_id}\t${project}`);

    expect(await installation.run(['organization', 'suspend', 'mills', 'October is not paid'])).toMatchObject({ code: 0 });
    expect((await letterTo(data, email, /^The organization Mills is suspended$/)).text).toContain('(October is not paid)');
    expect((await well('organization:info', '--org', 'mills', 'status')).stdout).toBe('suspended\n');
    expect((await well('subscription:info', '-p', project, 'status')).stdout).toBe('suspended\n');
    expect((await well(...list)).stdout).toContain(project);
    expect((await well('project:list', '--format', 'plain', '--no-header', '--columns', 'id')).stdout).toBe(`${project}\n`);
    /** The client breaks lines wherever they are full. */
    const refusal = async (...args: string[]) => {
      const { code, stderr } = await run(...args);
      return { isRefused: code !== 0, said: stderr.replaceAll(/\s+/g, '') };
    };
    const why = { isRefused: true, said: expect.stringContaining('TheorganizationMillsissuspended(Octoberisnotpaid)') };
    expect(await refusal('project:create', '--org', 'mills', '--title', 'Other', '--region', 'offshoot', '--yes')).toEqual(why);
    const variable = ['variable:create', '-p', project, '--level', 'project', '--name', 'color', '--value', 'blue', '--no-interaction'];
    expect(await refusal(...variable)).toEqual(why);
    await well(...profile, 'company_name', 'Mills Ltd');
    expect(await installation.run(['organization', 'resume', 'mills'])).toMatchObject({ code: 0 });
    expect((await well('organization:info', '--org', 'mills', 'status')).stdout).toBe('active\n');
  },
);

test('the released CLI lists the subscriptions of an organization, and deletes it', async () => {
  const { installation, credentials } = shared;
  const { apiToken } = credentials;
  const { url } = installation;
  const token = await accessToken(url, apiToken);
  await using cli = await openReleasedCli(url);
  const organization = (await send(url, token, 'POST', '/organizations', { label: 'Ships', name: 'ships' })).json;
  const listed = await cli.run(['organization:subscription:list', '--org', 'ships'], apiToken);
  expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining('No subscriptions were found') });
  expect(await cli.run(['organization:delete', '--org', 'ships', '--yes'], apiToken)).toMatchObject({ code: 0 });
  expect((await send(url, token, 'GET', `/organizations/${organization.id}`)).status).toBe(404);
});

/** Answers the id. */
async function createUser({ url, run }: Installation, email: string): Promise<string> {
  expect(await run(['user', 'create', email])).toMatchObject({ code: 0 });
  const { stdout } = await run(['token', 'create', email]);
  return (await send(url, await accessToken(url, stdout.trim()), 'GET', '/users/me')).json.id;
}

/** The rows of a table as the client draws it. */
const cellsOf = (table: string) =>
  table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
