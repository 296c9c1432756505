/** The tree, folded to the edge of an environment's pages: the way from one environment to the next. */
import { Link } from '@tanstack/react-router';
import { standingOf } from '../api/environment-standing.ts';
import type { Activity, Environment } from '../api/resources.ts';
import { useNow } from '../ui/age.tsx';
import { Glyph } from '../ui/status.tsx';
import { grow, scaleOf, wide } from './growth.ts';
import { shootsOf } from './shoots.ts';

const indent = 15;
const rowHeight = 30;

interface MiniTreeProps {
  project: string;
  environments: readonly Environment[];
  activities: readonly Activity[];
}

export function MiniTree({ project, environments, activities }: MiniTreeProps) {
  const shoots = shootsOf(environments, activities);
  const rows = grow(shoots, scaleOf(shoots, useNow(), wide), wide);
  const byId = new Map(environments.map((environment) => [environment.id, environment]));
  return (
    <ul className="mini">
      {rows.map(({ id, depth }, n) => {
        const environment = byId.get(id);
        if (!environment) return undefined;
        /** Levels whose line goes on below this row: those that a later row of the same level hangs on. */
        const goesOn = Array.from({ length: depth + 1 }, (_, level) => {
          const next = rows.slice(n + 1).find((row) => row.depth <= level);
          return level > 0 && next?.depth === level;
        });
        return (
          <li key={id}>
            <Link
              to="/projects/$project/environments/$environment"
              params={{ project, environment: id }}
              style={{ paddingInlineStart: 22 + depth * indent }}
            >
              <Lines depth={depth} goesOn={goesOn} hasChildren={(rows[n + 1]?.depth ?? 0) > depth} />
              <span className="dot" style={{ left: 3 + depth * indent }}>
                <Glyph of={standingOf(environment, activities).standing} />
              </span>
              <span className="cut">{id}</span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

function Lines({ depth, goesOn, hasChildren }: { depth: number; goesOn: readonly boolean[]; hasChildren: boolean }) {
  const xOf = (level: number) => 9 + (level - 1) * indent;
  const middle = rowHeight / 2;
  return (
    <svg className="lines" aria-hidden="true">
      {goesOn.map((isOn, level) => isOn && <line key={level} className="shoot" x1={xOf(level)} y1="0" x2={xOf(level)} y2={rowHeight} />)}
      {depth > 0 && (
        <path
          className="shoot"
          d={`M${xOf(depth)} 0V${middle - 6}C${xOf(depth)} ${middle - 1} ${xOf(depth) + 2} ${middle} ${xOf(depth) + 8} ${middle}`}
        />
      )}
      {hasChildren && <line className="shoot" x1={xOf(depth + 1)} y1={middle + 8} x2={xOf(depth + 1)} y2={rowHeight} />}
    </svg>
  );
}
