/** How much of the machine somebody may have, as the API writes it: null is as much as there is. */
import { Type } from 'typebox';
import { closed, nullable } from '../../kernel/schema.ts';

const amountMax = 999_999_999;
const Whole = (description: string, minimum = 0) =>
  Type.Unsafe<number | null>({ ...nullable(Type.Integer({ minimum, maximum: amountMax })), description });

const limits = {
  projects: Whole('How many projects.'),
  environments: Whole('How many environments that have something to run.'),
  cpu: Type.Unsafe<number | null>({ ...nullable(Type.Number({ minimum: 0, maximum: amountMax })), description: 'Processors.' }),
  memory: Whole('Megabytes of memory.'),
  disk: Whole('Megabytes of disk.'),
  builds: Whole('How many builds at once.', 1),
  activities: Whole('How many activities that wait.', 1),
};

export const Limits = Type.Object(limits);

/** What is not named stays as it is. */
export const LimitsChange = closed({
  projects: Type.Optional(limits.projects),
  environments: Type.Optional(limits.environments),
  cpu: Type.Optional(limits.cpu),
  memory: Type.Optional(limits.memory),
  disk: Type.Optional(limits.disk),
  builds: Type.Optional(limits.builds),
  activities: Type.Optional(limits.activities),
});
