/** What nobody may read in a log of an environment: what its people and services keep secret, and the tokens by which its containers report traces. */
import type { Reporter } from '../../../drivers/otlp/reporter.ts';
import type { Machine } from '../../../machine.ts';
import { instanceCountOf, reporterOf, runnablesOf } from './containers.ts';
import { sensitiveValues } from './runtime-variables.ts';
import type { Stack } from './stack.ts';

export const hiddenValues = (stack: Stack, { traces }: Pick<Machine, 'traces'>): string[] => [
  ...(traces ? reportersOf(stack).map((reporter) => traces.tokens.issue(reporter)) : []),
  ...sensitiveValues(stack),
];

/** Containers that only run a hook or a command report as the first instance of their app. */
function reportersOf(stack: Stack): Reporter[] {
  const { applications, tasks } = stack.model;
  return [
    ...runnablesOf(stack).flatMap((runnable) =>
      Array.from({ length: instanceCountOf(stack, runnable) }, (_, index) => reporterOf(stack, runnable, index)),
    ),
    ...[...Object.values(applications), ...Object.values(tasks)].map((one) => reporterOf(stack, one, 0)),
  ];
}
