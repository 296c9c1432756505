/** What apps are written in, as their configuration says: asked of the database for many environments at once, and kept for a while. */
import { sql } from 'kysely';
import { nameOfType, versionOfType } from '../../catalogue/catalogue.ts';
import type { Scope } from '../../drivers/metrics/metrics.ts';
import type { Db } from '../../kernel/sql.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';

export interface Program {
  language: string;
  runtime: string;
  os: string;
}

export interface ServedApps {
  /** Once it has settled, what runs in these environments is known, as of some seconds ago. */
  look(scopes: readonly Scope[]): Promise<void>;
  /** Of one that nobody knows, empty. */
  programOf(scope: Scope, application: string): Program;
}

const keptMilliseconds = 30_000;
const environmentsMax = 20_000;
const unknown: Program = { language: '', runtime: '', os: '' };

interface Known {
  at: number;
  programs: Map<string, Program>;
}

export function openServedApps(db: Db): ServedApps {
  const known = new Map<string, Known>();
  const keyOf = ({ project, environment }: Scope) => `${project}-${environment}`;
  return {
    async look(scopes) {
      const now = performance.now();
      const missing = [...new Map(scopes.map((scope) => [keyOf(scope), scope])).entries()].filter(
        ([key]) => now - (known.get(key)?.at ?? -Infinity) > keptMilliseconds,
      );
      if (missing.length === 0) return;
      const types = await typesOfApps(
        db,
        missing.map(([, scope]) => scope),
      );
      if (known.size + missing.length > environmentsMax) known.clear();
      for (const [key] of missing) known.set(key, { at: now, programs: programsOf(types.get(key) ?? {}) });
    },
    programOf: (scope, application) => known.get(keyOf(scope))?.programs.get(application) ?? unknown,
  };
}

const programsOf = (types: Record<string, string>) => new Map(Object.entries(types).map(([app, type]) => [app, programOfType(type)]));

/** `nodejs:24` is run by nodejs 24. */
const programOfType = (type: string): Program => {
  const language = nameOfType(type);
  return { language, runtime: `${language} ${versionOfType(type)}`.trim(), os: 'Linux' };
};

/** Types of apps by name, by `<project>-<machine name>`. */
async function typesOfApps(db: Db, scopes: readonly Scope[]): Promise<Map<string, Record<string, string>>> {
  const { rows } = await sql<{ cluster: string; types: Record<string, string> }>`
    select environments.project_id || '-' || machine_name as cluster,
      (select coalesce(json_object_agg(app.key, app.value ->> 'type'), '{}') from json_each(deployments.model -> 'applications') as app) as types
    from deployments join environments on environments.project_id = deployments.project_id and environments.id = deployments.environment_id
    where ${deploymentLife.sqlPossible('deployments.status', 'run')} and (environments.project_id, machine_name) in
      (select * from unnest(${scopes.map(({ project }) => project)}::text[], ${scopes.map(({ environment }) => environment)}::text[]))`.execute(
    db,
  );
  return new Map(rows.map(({ cluster, types }) => [cluster, types]));
}
