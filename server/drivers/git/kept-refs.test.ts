import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitFiles, git } from '../../testing/repository.ts';
import { putBackRefs, refsIn } from './kept-refs.ts';

test('names that are newer than the objects of a copy are set back to what they were', async () => {
  const repositories = await mkdtemp(join(tmpdir(), 'offshoot-refs-'));
  try {
    const [shop, empty] = [join(repositories, 'shop'), join(repositories, 'empty')];
    for (const repository of [shop, empty]) git(repository, ['init', '--bare', '--quiet', '--initial-branch=main', repository]);
    const [first, second] = [commitFiles(shop, undefined, { a: '1' }), commitFiles(shop, undefined, { b: '2' })];
    git(shop, ['update-ref', 'refs/heads/main', first]);
    git(shop, ['update-ref', 'refs/heads/feature/one', second]);
    git(shop, ['update-ref', 'refs/tags/v1', first]);
    const refs = () => git(shop, ['for-each-ref', '--format=%(refname) %(objectname)']);
    const [then, kept] = [refs(), await refsIn(repositories)];

    // As a copy looks that was under way while somebody pushed: the objects were read before, the names after that.
    git(shop, ['pack-refs', '--all']);
    await writeFile(join(shop, 'refs', 'heads', 'main'), `${'a'.repeat(40)}\n`);
    await writeFile(join(shop, 'refs', 'heads', 'pushed'), `${'b'.repeat(40)}\n`);
    git(shop, ['update-ref', '-d', 'refs/heads/feature/one']);
    for (let times = 0; times < 2; times += 1) {
      await putBackRefs(repositories, kept);
      expect(refs()).toBe(then);
      expect(git(shop, ['fsck', '--no-dangling', '--no-progress'])).toBe('');
    }
    git(shop, ['update-ref', 'refs/heads/later', second, '0'.repeat(40)]);
    expect(git(empty, ['symbolic-ref', 'HEAD'])).toBe('refs/heads/main');
  } finally {
    await rm(repositories, { recursive: true });
  }
});
