/**
 * Who a request with traces comes from, by its token. A token counts as long as the environment has on the machine what it was issued for: not after the
 * environment was removed or activated anew. This is asked for once in some seconds for each environment.
 */
import { sql } from 'kysely';
import type { Reporter, ReporterTokens } from '../../drivers/otlp/reporter.ts';
import type { Db } from '../../kernel/sql.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';

export interface Reporters {
  /** Undefined: the token counts for nothing here. */
  reporterOf(authorization: string | undefined): Promise<Reporter | undefined>;
}

const rememberedMilliseconds = 5000;
const rememberedMax = 10_000;

export function openReporters(db: Db, tokens: ReporterTokens, now: () => number = Date.now): Reporters {
  const known = new Map<string, { at: number; isCurrent: Promise<boolean> }>();
  const isCurrentStack = (reporter: Reporter) => {
    const key = `${reporter.project} ${reporter.environment} ${reporter.stack}`;
    const before = known.get(key);
    if (before && now() - before.at < rememberedMilliseconds) return before.isCurrent;
    if (known.size >= rememberedMax) known.clear();
    const isCurrent = hasStack(db, reporter);
    known.set(key, { at: now(), isCurrent });
    isCurrent.catch(() => known.delete(key));
    return isCurrent;
  };
  return {
    async reporterOf(authorization = '') {
      const [, token] = /^bearer +([\w-]+)$/i.exec(authorization) ?? [];
      const reporter = token === undefined ? undefined : tokens.read(token);
      return reporter && (await isCurrentStack(reporter)) ? reporter : undefined;
    },
  };
}

/** Also while it is being deployed for the first time: hooks and apps run before that is done. */
async function hasStack(db: Db, { project, environment, stack }: Reporter): Promise<boolean> {
  const { rows } = await sql`
    select from environments where project_id = ${project} and machine_name = ${environment} and (stack_id = ${stack} or exists (
      select from deployments where deployments.project_id = environments.project_id and environment_id = environments.id
        and deployments.stack_id = ${stack} and ${deploymentLife.sqlPossible('deployments.status', 'prepare')}))`.execute(db);
  return rows.length > 0;
}
