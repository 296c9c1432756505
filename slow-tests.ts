/**
 * The order of a whole run, and what it cost. Files that take long are begun first, so that at the end no processor waits for one of them; at the end of a run the ten
 * slowest are named. CONTRIBUTING.md says what they buy.
 */
import { relative } from 'node:path';
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node';

/** In seconds, on two processors, of those that take most of a minute or more: only the order counts. */
export const secondsOf: Readonly<Record<string, number>> = {
  'e2e/kill.test.ts': 255,
  'server/rooms/deployments/deploy/deploy.test.ts': 220,
  // Both where their images have to be built first.
  'server/catalogue/runtimes.test.ts': 212,
  'server/catalogue/services.test.ts': 191,
  'e2e/console.test.ts': 157,
  'e2e/first-start.test.ts': 146,
  'e2e/environments.test.ts': 143,
  'e2e/stacks.test.ts': 140,
  'e2e/operator-commands.test.ts': 137,
  'e2e/platform-backup.test.ts': 115,
  'e2e/released-cli-people.test.ts': 115,
  'server/drivers/blobs/blobs.test.ts': 113,
  'server/rooms/backups/backups.test.ts': 112,
  'server/rooms/backups/restore.test.ts': 111,
  'e2e/integrations.test.ts': 110,
  'server/rooms/ssh/inside.test.ts': 108,
  'server/rooms/backups/restore-targets.test.ts': 105,
  'e2e/released-cli-backups.test.ts': 105,
  'e2e/console-story.test.ts': 100,
  'server/rooms/backups/restore-faults.test.ts': 96,
  'e2e/sleep.test.ts': 96,
  'server/rooms/environments/rollback.test.ts': 82,
  'server/rooms/deployments/running/sleep.test.ts': 81,
  'server/rooms/backups/killed-backup.test.ts': 81,
  'e2e/several-processes.test.ts': 74,
  'server/drivers/runtime/runc/survival.test.ts': 72,
  'server/rooms/deployments/sizes/resources.test.ts': 70,
  'server/rooms/environments/manual-deployments.test.ts': 68,
  'e2e/edge.test.ts': 65,
  'server/drivers/runtime/runc/runc.test.ts': 65,
  'server/hostile-input.test.ts': 64,
  'server/rooms/backups/restore-at-rest.test.ts': 62,
  'e2e/released-cli-environments.test.ts': 62,
  'server/who-may-what.test.ts': 60,
  'e2e/sign-in-page.test.ts': 57,
  'server/rooms/operations/tenant-reach.test.ts': 57,
  'e2e/password-and-passcode.test.ts': 55,
  'e2e/upgrade.test.ts': 54,
  'server/rooms/source/source.test.ts': 54,
  'server/kernel/activity.test.ts': 52,
  'server/rooms/tasks/tasks.test.ts': 52,
  'server/every-operation.test.ts': 51,
  'e2e/invitation.test.ts': 50,
  'e2e/console-project.test.ts': 40,
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

/** Beside how long each took, what it cost (cpu-spent.ts): one that waits leaves the processors to others. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]) {
    if (modules.length <= namedMax) return;
    const seconds = (module: TestModule) => module.diagnostic().duration / 1000;
    const cpuSeconds = (module: TestModule) => module.meta().cpuSeconds ?? 0;
    const slowest = modules.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, namedMax);
    const dearest = modules.toSorted((a, b) => cpuSeconds(b) - cpuSeconds(a)).slice(0, namedMax);
    const all = modules.reduce((sum, module) => sum + cpuSeconds(module), 0);
    console.log(`  Slowest files, and those that took most of the processors (${all.toFixed(0)} seconds of them in all):`);
    console.log('   wall   cpu');
    const shown = (value: number) => value.toFixed(0).padStart(5);
    for (const module of new Set([...slowest, ...dearest]))
      console.log(`  ${shown(seconds(module))} ${shown(cpuSeconds(module))} ${module.relativeModuleId}`);
  }
}
