/** A command on a checkout in a process of its own, to be killed: `node test-killed-source-run.ts <asked>`, until somebody does. */
import { runOnSource } from './run-on-source.ts';
import { testApp } from './test-build.ts';
import { openBuilding, type Asked } from './test-killed-build.ts';

/** `hook` is the command. */
export const runOf = ({ project, commit, hook }: Asked, log: (line: string) => void) => ({
  activity: { id: 'activityaaaaa', is_urgent: false },
  wait: <T>(others: Promise<T>) => others,
  project: { id: project, entropy: 'e'.repeat(56) },
  branch: 'main',
  commit,
  app: testApp(),
  what: 'the command',
  command: hook,
  by: { name: 'Ada', email: 'ada@example.org' },
  variables: [],
  packBytesMax: 2 ** 20,
  log,
  ended: () => {},
});

if (import.meta.main) {
  const asked = JSON.parse(process.argv[2] ?? '') as Asked;
  const { parts } = await openBuilding(asked);
  await runOnSource(
    parts,
    runOf(asked, (line) => console.log(line)),
    new AbortController().signal,
  );
}
