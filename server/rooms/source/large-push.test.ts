/** Pushes that are small and stand for much: refused in words before anything is kept or written, and without taking the machine. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import {
  beginningOf,
  commitOf,
  packedDelta,
  packedObject,
  packedZeros,
  packOf,
  treeOf,
  type PackedObject,
} from '../../drivers/git/test-packs.ts';
import { commit, git, good, openSource } from '../../testing/git.ts';

const { home, owner, filledProject } = await openSource();
const { id, copy } = await filledProject();

const empty = packedObject('blob', Buffer.alloc(0));
const ten = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];

/** Folders that have the same entries each, in each other so many times; the outermost is the last. */
function nested(depth: number, names: readonly string[]): PackedObject[] {
  const objects = [empty, packedObject('tree', treeOf(names.map((name) => ({ mode: '100644', name, id: empty.id }))))];
  for (let level = 1; level < depth; level++) {
    const inner = objects.at(-1)?.id ?? '';
    objects.push(packedObject('tree', treeOf(names.map((name) => ({ mode: '40000', name, id: inner })))));
  }
  return objects;
}

/** As a client that sends what it likes: the commit comes last. */
async function pushPack(objects: readonly PackedObject[]): Promise<string> {
  const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
  const commands = `${line(`${'0'.repeat(40)} ${objects.at(-1)?.id} refs/heads/bomb\0report-status side-band-64k`)}0000`;
  const { text } = await home.send({
    method: 'POST',
    url: `/git/${id}.git/git-receive-pack`,
    headers: { authorization: `Bearer ${owner.accessToken}`, 'content-type': 'application/x-git-receive-pack-request' },
    payload: Buffer.concat([Buffer.from(commands), packOf(objects)]),
  });
  expect(await home.platform.git.branch(id, 'bomb')).toBeUndefined();
  return text;
}

const withCommit = (objects: readonly PackedObject[]) => [...objects, packedObject('commit', commitOf(objects.at(-1)?.id ?? ''))];

test('a thousand million files are refused with the name of the branch, and nothing of them is kept', async () => {
  execFileSync('git', ['unpack-objects', '-q'], { cwd: copy, input: packOf(nested(9, ten)) });
  const bomb = await good(copy, 'commit-tree', nested(9, ten).at(-1)?.id ?? '', '-p', 'main', '-m', 'Bomb');
  for (const [ref, what] of [
    ['refs/heads/bomb', 'The branch bomb'],
    ['refs/tags/bomb', 'The tag bomb'],
  ]) {
    const says = `${what} has more than 500,000 files and folders, which is more than what can be deployed here.`;
    expect(await git(copy, 'push', 'origin', `${bomb}:${ref}`)).toMatchObject({ code: 1, said: expect.stringContaining(says) });
  }
  const refs = (await home.platform.git.refs(id)).map(({ name }) => name);
  expect(refs).toEqual(['refs/heads/dev', 'refs/heads/main', 'refs/heads/stage']);
  expect(await home.platform.git.commit(id, bomb)).toBeUndefined();
  await commit(copy, { 'dev.txt': 'An ordinary push goes through as before.' });
  expect(await git(copy, 'push', '-o', 'no-wait', 'origin', 'dev')).toMatchObject({ code: 0 });
});

test.for([
  { name: 'more files than anybody can count', depth: 150, names: ten, says: 'has more than 500,000 files and folders' },
  { name: 'folders in too many others', depth: 1000, names: ['a'], says: 'has more than 200 folders in each other' },
  { name: 'too long a path', depth: 20, names: ['n'.repeat(250)], says: 'has a path of more than 3,500 bytes' },
])('$name: refused', async ({ depth, names, says }) => {
  expect(await pushPack(withCommit(nested(depth, names)))).toContain(`The branch bomb ${says}`);
});

test('a file of hundreds of megabytes that is less than one in the push is refused, also where the last commit has it no more', async () => {
  const zeros = packedZeros(600);
  const tree = packedObject('tree', treeOf([{ mode: '100644', name: 'zeros', id: zeros.id }]));
  const large = packedObject('commit', commitOf(tree.id));
  const without = packedObject('tree', Buffer.alloc(0));
  const sent = [zeros, tree, large, without, packedObject('commit', commitOf(without.id, large.id))];
  expect(packOf(sent).length).toBeLessThan(1_000_000);
  expect(await pushPack(sent)).toContain('The commits have a file of more than 512 MiB');
});

test('a file of gigabytes is refused as soon as it is begun, and the client is told so for each branch', async () => {
  const before = [empty, packedObject('blob', Buffer.from('An ordinary file.')), ...packedDelta(3)];
  const answer = await pushPack([...before, beginningOf(6144)]);
  expect(answer).toContain('unpack The commits have a file of more than 512 MiB');
  expect(answer).toContain('ng refs/heads/bomb The commits have a file of more than 512 MiB');
});

test('many files that are one and the same are counted each', async () => {
  const zeros = packedZeros(48);
  const names = Array.from({ length: 90 }, (_, index) => `zeros-${String(index).padStart(2, '0')}`);
  const tree = packedObject('tree', treeOf(names.map((name) => ({ mode: '100644', name, id: zeros.id }))));
  expect(await pushPack(withCommit([zeros, tree]))).toContain('The branch bomb has files of more than 4 GiB together');
});

test('a thousand bytes that become gigabytes in memory are refused before they do', async () => {
  const sent = withCommit([...packedDelta(3000), packedObject('tree', Buffer.alloc(0))]);
  expect(packOf(sent).length).toBeLessThan(2000);
  expect(await pushPack(sent)).toMatch(/out of memory/i);
});
