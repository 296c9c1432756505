import { expect, test } from 'vitest';
import { commentText, type CommentFacts } from './report-comment.ts';

const facts: CommentFacts = {
  environment: 'pr-7',
  state: 'runs',
  commit: '0123456789abcdef0123456789abcdef01234567',
  parent: 'main',
  commitsAhead: 2,
  addresses: ['https://pr-7.example.org/', 'https://api.pr-7.example.org/'],
  changed: ['api', 'db'],
  containers: [
    { name: 'api', kind: 'app', type: 'nodejs:22', cpu: 0.1, memory: 64, disk: null, instances: 2 },
    { name: 'db', kind: 'service', type: 'postgresql:17', cpu: 0.25, memory: 832, disk: 512, instances: 1 },
  ],
  emissions: 0,
  log: 'https://offshoot.example.org/log',
  waitsFor: undefined,
  approval: 'Ada can.',
};

test('a comment tells addresses, what is different, and what it takes in all', () => {
  expect(commentText(facts)).toBe(`### \`pr-7\` is running

|  |  |
| --- | --- |
| Addresses | <https://pr-7.example.org/><br><https://api.pr-7.example.org/> |
| Commit | \`01234567\`, 2 commits ahead of \`main\` |
| Different here | \`api\`, \`db\` |
| Log | <https://offshoot.example.org/log> |

What it takes:

| Container | Type | Instances | CPU | Memory | Disk |
| --- | --- | --: | --: | --: | --: |
| app \`api\` | \`nodejs:22\` | 2 | 0.2 | 128 MB |  |
| service \`db\` | \`postgresql:17\` | 1 | 0.25 | 832 MB | 512 MB |
| **All** |  | 3 | 0.45 | 960 MB | 512 MB |
`);
});

test('an approved commit of a fork that runs is told of beside the one that waits', () => {
  const text = commentText({ ...facts, waitsFor: 'f'.repeat(40) });
  expect(text).toMatch(/is running[\s\S]*Nothing of `ffffffff` is built[\s\S]*Ada can\.[\s\S]*Addresses/);
});

test('what was accounted of its carbon is told, and nothing where nothing was', () => {
  expect(commentText({ ...facts, emissions: 12_345_678 })).toContain('Carbon so far: 12 g of CO2 equivalent, up to yesterday.');
  expect(commentText(facts)).not.toContain('Carbon');
});

test('names that others chose stay text', () => {
  const text = commentText({ ...facts, parent: '`@everybody` | [x](https://evil.example)\n# big' });
  expect(text).toContain('2 commits ahead of ` @everybody    [x](https://evil.example) # big`');
});
