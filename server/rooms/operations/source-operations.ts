/** The source operations of an environment, as the configuration in its head commit defines them. */
import { Type, type Static } from 'typebox';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import type { ProjectModel } from '../builds/public.ts';
import { readModel } from '../builds/work.ts';

export const SourceOperation = Type.Object({
  id: Type.String(),
  app: Type.String(),
  operation: Type.String(),
  command: Type.String(),
});
export type SourceOperation = Static<typeof SourceOperation>;

interface Code {
  project_id: string;
  head_commit: string | null;
}

/** Lists the operations app by app. Throws a Problem where the configuration cannot be read. */
export async function sourceOperations(platform: Platform, { project_id, head_commit }: Code): Promise<SourceOperation[]> {
  if (head_commit === null) return [];
  const found = await readModel(platform, project_id, head_commit).catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error;
    throw new Problem('conflict', `The configuration in the last commit cannot be read. ${error.message}`, { cause: error });
  });
  return found ? sourceOperationsOf(found.model) : [];
}

const sourceOperationsOf = ({ applications }: ProjectModel): SourceOperation[] =>
  Object.values(applications).flatMap(({ name: app, source }) =>
    Object.entries(source.operations).map(([operation, { command }]) => ({ id: `${app}:${operation}`, app, operation, command })),
  );
