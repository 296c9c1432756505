/** Whether the code of a project comes from a code host, which is the truth then: what contradicts it is refused here, with where to do it instead. */
import { sql } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';

export interface CodeSource {
  integration_id: string;
  /** As people know it: an address, or a name until the host told the address. */
  repository: string;
  fetches_branches: boolean;
  prunes_branches: boolean;
}

/** The first integration with a code host counts: of two, the branches of one would be deleted by the other. */
export const codeSourceOfProject = sql`(
  select json_build_object('integration_id', integrations.id,
    'repository', coalesce(code_mirrors.repository_url, integrations.type || ' ' || coalesce(integrations.settings ->> 'repository', integrations.settings ->> 'project')),
    'fetches_branches', coalesce(integrations.settings ->> 'fetch_branches', 'true') = 'true',
    'prunes_branches', coalesce(integrations.settings ->> 'fetch_branches', 'true') = 'true' and coalesce(integrations.settings ->> 'prune_branches', 'true') = 'true')
  from code_mirrors join integrations on integrations.id = code_mirrors.integration_id
  where integrations.project_id = projects.id order by integrations.created_at, integrations.id limit 1)`;

export async function codeSourceOf(db: Db | Tx, projectId: string): Promise<CodeSource | undefined> {
  const { rows } = await sql<{ source: CodeSource | null }>`
    select ${codeSourceOfProject} as source from projects where projects.id = ${projectId}`.execute(db);
  return rows[0]?.source ?? undefined;
}

/** Throws a Problem where one of the refs is the host's to move. */
export async function refuseMirroredRefs(db: Db | Tx, projectId: string, refs: readonly string[]): Promise<void> {
  const source = await codeSourceOf(db, projectId);
  if (!source) return;
  const mirrored = source.fetches_branches ? refs : await mirroredAmong(db, projectId, refs);
  if (mirrored.length === 0) return;
  throw new Problem('forbidden', `The code of this project comes from ${source.repository}: push there, and it comes here by itself.`);
}

async function mirroredAmong(db: Db | Tx, projectId: string, refs: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ ref: string }>`
    select 'refs/heads/' || id as ref from environments
    where project_id = ${projectId} and is_mirrored and 'refs/heads/' || id = any(${refs}::text[])`.execute(db);
  return rows.map(({ ref }) => ref);
}

interface Mirrored {
  code_source: CodeSource | null;
  is_mirrored: boolean;
}

/** Whether the branch is one of the host's. */
export const isOfHost = ({ code_source, is_mirrored }: Mirrored) => code_source !== null && is_mirrored;

/** What is said of a change that has to be made at the host; `what` is an imperative, such as «Merge there». */
export const atHost = ({ code_source }: Mirrored, what: string) =>
  `The code of this project comes from ${code_source?.repository ?? ''}. ${what}`;
