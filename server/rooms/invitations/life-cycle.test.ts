import { beforeAll, expect, test, vi } from 'vitest';
import { Problem } from '../../kernel/problem.ts';
import { openBrowser } from '../../testing/browser.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { walk, type Walked } from '../../testing/walk.ts';
import { invitationLife, type InvitationState } from './life-cycle.ts';

let home: TestPlatform;
let ada: Person;
let paths: string[];

beforeAll(async () => {
  home = await openTestPlatform();
  ada = await home.person();
  const { organization_id, projectId } = await sampleProject(ada);
  paths = [`/organizations/${organization_id}/invitations`, `/projects/${projectId}/invitations`];
});

interface Thing {
  /** Of the invitations of its kind. */
  path: string;
  id: string;
  email: string;
  link: string;
}

/** How often somebody tries is counted, which is not what this is about. */
const forgetAttempts = () => home.platform.db.deleteFrom('attempts').execute();

const invite = async (path: string, email: string, fields: object = {}) => {
  await forgetAttempts();
  return ada.send('POST', path, { email, permissions: [], ...fields });
};
const idOf = async (email: string) =>
  (await home.platform.db.selectFrom('invitations').select('id').where('email', '=', email).executeTakeFirstOrThrow()).id;
const linkFor = async (email: string) =>
  /\/accept-invitation\?token=[\w-]{22}/.exec((await home.mail(email)).at(-1)?.text ?? '')?.[0] ?? '/accept-invitation?token=none';

/** As people know it, whatever the table says. */
const toldAfter = { accept: 'accepted', cancel: 'cancelled', revoke: 'cancelled', expire: 'error' };
const isOpen: Record<InvitationState, boolean> = { pending: true, processing: false, accepted: false, cancelled: false, error: true };

const life: Pick<Walked<InvitationState, keyof typeof toldAfter, Thing>, 'begin' | 'stateOf' | 'look'> = {
  /** Some cannot be mailed, and have failed as soon as they are there. */
  begin: async (random) => {
    const [path = '', email, isMailed] = [paths[random(2)], `${crypto.randomUUID()}@example.org`, random(4) > 0];
    // What was recorded before would meet the failure in the place of this one.
    await home.mail();
    if (!isMailed) vi.spyOn(home.platform.mail, 'send').mockRejectedValueOnce(new Problem('invalid-request', 'There is no such mailbox.'));
    expect((await invite(path, email)).status).toBe(201);
    await home.mail();
    const state = isMailed ? 'pending' : (invitationLife.after('pending', 'fail') ?? 'pending');
    return { state, thing: { path, email, id: await idOf(email), link: await linkFor(email) } };
  },
  stateOf: async ({ path, id }) => (await ada.send('GET', `${path}/${id}`)).json.state,
  look: async ({ path, id }, state, happened) => {
    const { json } = await ada.send('GET', `${path}/${id}`);
    expect(json.state).toBe(happened ? toldAfter[happened] : state);
    expect([json.finished_at === null, 'delete' in json._links]).toEqual([json.state === 'pending', isOpen[state]]);
    expect('delete' in json._links).toBe(invitationLife.possible(state, 'cancel'));
    const waiting: { id: string }[] = (await ada.send('GET', `${path}?page[size]=100`)).json;
    expect(waiting.some((each) => each.id === id)).toBe(invitationLife.possible(state, 'accept'));
  },
};

const accept = async ({ link }: Thing, isPossible: boolean) => {
  await forgetAttempts();
  const browser = openBrowser(home);
  const page = await browser.visit(link);
  const told = await browser.submit({ answer: 'accept', username: `u${crypto.randomUUID()}`, password: 'a good password' });
  const refused = { status: 410, text: expect.stringContaining(invitationLife.otherwise('accepted', 'accept')) };
  for (const { status, text } of [page, told]) expect({ status, text }).toMatchObject(isPossible ? { status: 200 } : refused);
};

const cancel = async ({ path, id }: Thing, isPossible: boolean) => {
  const { status, text } = await ada.send('DELETE', `${path}/${id}`);
  expect({ status, text }).toEqual(isPossible ? { status: 204, text: '' } : { status: 404, text: expect.stringContaining('No such') });
};

/** Who belongs there is not invited again; anybody else is, and an older invitation that failed, or ended, stays what it is. */
const inviteAnew = async ({ path, id, email }: Thing) => {
  const { status, json } = await invite(path, email, { force: true });
  expect([201, 409]).toContain(status);
  if (status === 201) await home.platform.db.deleteFrom('invitations').where('id', '=', json.id).where('id', '<>', id).execute();
};

const letTimePass = ({ id }: Thing) =>
  home.platform.db.updateTable('invitations').set({ expires_at: '2020-01-01T00:00:00Z' }).where('id', '=', id).execute();

const steps = 16;

test.for([1, 2, 3])('an invitation lives as its table says, whatever happens to it (seed %i)', { timeout: 120_000 }, async (seed) => {
  const taken = await walk<InvitationState, keyof typeof toldAfter, Thing>(seed, steps, {
    ...life,
    life: invitationLife,
    events: {
      accept: (thing, isPossible) => () => accept(thing, isPossible),
      cancel: (thing, isPossible) => () => cancel(thing, isPossible),
      revoke: (thing) => () => inviteAnew(thing),
      expire: (thing) => async () => void (await letTimePass(thing)),
    },
  });
  expect(taken).toBeGreaterThanOrEqual(steps);
});
