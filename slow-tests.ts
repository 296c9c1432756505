/**
 * The order of a whole run, and what it cost. Files that take long are begun first, so that at the end no processor waits for one of them; at the end of a run the ten
 * slowest are named. CONTRIBUTING.md says what they buy.
 */
import { relative } from 'node:path';
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node';

/** In seconds, on two busy processors: only the order counts. */
export const secondsOf: Readonly<Record<string, number>> = {
  'server/rooms/backups/backups.test.ts': 478,
  'server/rooms/ssh/inside.test.ts': 468,
  'server/drivers/blobs/blobs.test.ts': 430,
  'server/rooms/backups/restore.test.ts': 400,
  'server/who-may-what.test.ts': 359,
  'server/rooms/deployments/deploy/deploy.test.ts': 290,
  'server/catalogue/runtimes.test.ts': 285,
  'server/catalogue/services.test.ts': 264,
  'server/every-operation.test.ts': 231,
  'server/rooms/deployments/sizes/resources.test.ts': 231,
  'server/hostile-input.test.ts': 181,
  'server/rooms/source/source.test.ts': 180,
  'server/drivers/volumes/interrupted.test.ts': 180,
  'server/drivers/volumes/volumes.test.ts': 180,
  'server/rooms/builds/builds.test.ts': 176,
  'server/drivers/runtime/runc/survival.test.ts': 149,
  'server/rooms/backups/restore-targets.test.ts': 149,
  'server/drivers/runtime/runc/runc.test.ts': 140,
};

/** The longest first, and those that share a process after the others: one is handed on only as long as nobody wants one of their own. What is not listed is short. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isApart = ({ project }: TestSpecification) => Number(project.config.isolate);
    const seconds = ({ moduleId, project }: TestSpecification) => secondsOf[relative(project.config.root, moduleId)] ?? 0;
    return (await super.sort(files)).toSorted((a, b) => isApart(b) - isApart(a) || seconds(b) - seconds(a));
  }
}

const namedMax = 10;

export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]) {
    if (modules.length <= namedMax) return;
    const seconds = (module: TestModule) => module.diagnostic().duration / 1000;
    console.log('  Slowest files, in seconds:');
    for (const module of modules.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, namedMax))
      console.log(`  ${seconds(module).toFixed(0).padStart(5)} ${module.relativeModuleId}`);
  }
}
