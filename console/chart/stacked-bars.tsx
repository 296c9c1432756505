/** Amounts in intervals, one bar each, stacked by what they are of. The figures themselves are read out as a table. */
import { coloursMax } from './chart-data.ts';
import './chart.css';

interface StackedBars {
  label: string;
  /** What each part of a bar is of; the same order as the values. */
  names: readonly string[];
  bars: readonly { name: string; values: readonly number[] }[];
  text(value: number): string;
}

/** Beyond those that have one of their own, all have one colour. */
export const seriesColour = (rank: number) => (rank < coloursMax ? `var(--series-${rank + 1})` : 'var(--series-rest)');

const [height, barWidth, gap] = [140, 20, 6];
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

export function StackedBars({ label, names, bars, text }: StackedBars) {
  const highest = Math.max(...bars.map(({ values }) => sum(values))) || 1;
  const width = bars.length * (barWidth + gap);
  return (
    <figure className="stacked-bars">
      <svg viewBox={`0 0 ${width} ${height}`} height={height} preserveAspectRatio="none" aria-hidden="true">
        {bars.map((bar, n) => (
          <g key={bar.name} transform={`translate(${n * (barWidth + gap)} 0)`}>
            <title>{`${bar.name}: ${text(sum(bar.values))}`}</title>
            <rect width={barWidth} height={height} className="bar-ground" />
            {partsOf(bar.values, height / highest).map(({ y, partHeight }, rank) => (
              <rect key={rank} y={y} width={barWidth} height={partHeight} style={{ fill: seriesColour(rank) }} />
            ))}
          </g>
        ))}
      </svg>
      <figcaption className="row quiet small">
        <span>{bars[0]?.name}</span>
        <span className="push">{bars.at(-1)?.name}</span>
      </figcaption>
      <table className="unseen">
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Interval</th>
            {names.map((name, n) => (
              <th key={n} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars.map(({ name, values }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {values.map((value, n) => (
                <td key={n}>{text(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

/** From the ground up, in the order of the values. */
function partsOf(values: readonly number[], scale: number) {
  let y = height;
  return values.map((value) => {
    const partHeight = value * scale;
    y -= partHeight;
    return { y, partHeight };
  });
}
