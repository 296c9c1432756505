/** The slice of the tree that one row draws. The lines are for those who see them; the row says in words whose offshoot it is. */
import { Glyph, type Standing } from '../ui/status.tsx';
import type { Measures, Slice } from './growth.ts';

/** Where the line of a row runs, from its top. */
const node = 24;
const drop = 22;

interface Drawing {
  slice: Slice;
  measures: Measures;
  /** What each shoot looks like, as classes. */
  looks: ReadonlyMap<string, string>;
  standing: Standing;
}

export function GrowthDrawing({ slice, measures, looks, standing }: Drawing) {
  const { passing, leaving, arrivesAt, start, restsFrom, joints, id } = slice;
  const classOf = (shoot: string) => `shoot ${looks.get(shoot) ?? ''}`;
  const line = restsFrom === undefined ? measures.end : Math.max(start, restsFrom);
  return (
    <div className="growth" aria-hidden="true">
      <svg>
        {leaving.map((shoot) => (
          <g key={shoot.id} data-shoot={shoot.id}>
            <path className={classOf(shoot.id)} d={leave(shoot.from, shoot.x)} />
            <line className={classOf(shoot.id)} x1={shoot.x} y1={node + drop} x2={shoot.x} y2="100%" />
          </g>
        ))}
        {passing.map((shoot) => (
          <line key={shoot.id} data-shoot={shoot.id} className={classOf(shoot.id)} x1={shoot.x} y1="0" x2={shoot.x} y2="100%" />
        ))}
        <path data-shoot={id} className={classOf(id)} d={`${arrive(arrivesAt, start)}H${line}`} />
        {restsFrom !== undefined && <path className="shoot rests" d={`M${line} ${node}H${measures.end - 2}`} />}
        {joints.map(({ x, isFailed }, n) => (
          <circle key={n} className={`joint ${isFailed ? 'failed' : ''}`} cx={x} cy={node} r={arrivesAt === undefined ? 4 : 3.2} />
        ))}
      </svg>
      <span className={`tip ${standing === 'active' || standing === 'sleeping' ? 'leaf' : 'bud'}`}>
        <Glyph of={standing} />
      </span>
    </div>
  );
}

const leave = (from: number, x: number) => {
  const way = x - from;
  return `M${from} ${node}C${from + way * 0.7} ${node} ${x} ${node + 5.5} ${x} ${node + drop}`;
};

function arrive(x: number | undefined, start: number): string {
  if (x === undefined) return `M${start} ${node}`;
  const bend = start - x;
  const top = Math.max(0, node - Math.max(bend, 8));
  return `M${x} 0V${top}C${x} ${node - (node - top) * 0.25} ${x + bend * 0.25} ${node} ${start} ${node}`;
}
