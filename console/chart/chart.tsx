/**
 * A chart that can be read in every way: with the pointer, with the arrow keys (each point is read out), as a table, and as a file. A part of it can be
 * selected, by dragging or with Shift and the arrow keys, and be looked at more closely.
 */
import { type KeyboardEvent, lazy, type ReactNode, Suspense, useId, useState } from 'react';
import { saveCsv } from '../ui/csv.ts';
import { Icon } from '../ui/icon.tsx';
import { Bones } from '../ui/notice.tsx';
import { type ChartData, isEmpty, pointWords, tableOf, timeWords } from './chart-data.ts';
import './chart.css';
import type { PlotProps, Span } from './plot.tsx';

const Plot = lazy(async () => ({ default: (await import('./plot.tsx')).Plot }));

/** Points that one press of Page up or Page down passes. */
const page = 10;

interface ChartProps extends Pick<PlotProps, 'data' | 'kind' | 'format' | 'range'> {
  title: string;
  /** What each point is, such as "processors, on average". */
  about?: ReactNode;
  /** What stands between the title and the drawing. */
  children?: ReactNode;
  /** The name of the file. */
  file: string;
  onZoom?(span: Span): void;
}

export function Chart({ title, about, children, data, kind, format, range, file, onZoom }: ChartProps) {
  const [heading, hint] = [useId(), useId()];
  const [at, setAt] = useState<number>();
  const [selected, setSelected] = useState<Span>();
  const [emphasised, setEmphasised] = useState<string>();
  const last = data.times.length - 1;
  const zoom = () => {
    if (!selected || !onZoom) return;
    setSelected(undefined);
    setAt(undefined);
    onZoom(wholeSeconds(selected));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') return zoom();
    if (event.key === 'Escape') return setSelected(undefined);
    const next = movedTo(event.key, at ?? last + 1, last);
    if (next === undefined) return;
    event.preventDefault();
    setAt(next);
    if (event.shiftKey) setSelected(extended(data, selected, at ?? next, next));
  };
  return (
    <section className="panel chart" aria-labelledby={heading}>
      <div className="chart-head">
        <h2 id={heading}>{title}</h2>
        {about !== undefined && <span className="quiet small">{about}</span>}
        <button type="button" className="button tiny push" aria-label={`CSV of ${title}`} onClick={() => saveCsv(file, tableOf(data))}>
          CSV
        </button>
      </div>
      {children}
      <div
        className="plot"
        role="slider"
        tabIndex={0}
        aria-labelledby={heading}
        aria-describedby={hint}
        aria-valuemin={0}
        aria-valuemax={Math.max(last, 0)}
        aria-valuenow={at ?? Math.max(last, 0)}
        aria-valuetext={isEmpty(data) ? 'nothing was measured' : pointWords(data, at ?? last, format)}
        onKeyDown={onKeyDown}
      >
        <Suspense fallback={<Bones rows={1} height={178} />}>
          <Plot
            data={data}
            kind={kind}
            format={format}
            range={range}
            at={at}
            selected={selected}
            emphasised={emphasised}
            onLook={setAt}
            onSelect={onZoom ? setSelected : ignore}
          />
        </Suspense>
      </div>
      <p className="unseen" id={hint}>
        The arrow keys go from point to point{onZoom && '; with Shift they select, and Enter zooms in on what is selected'}.
      </p>
      <div className="chart-foot">
        <span className="when small">{at === undefined ? '' : timeWords(data.times[at] ?? 0, data.grain)}</span>
        {selected && onZoom && (
          <span className="row selected small">
            {timeWords(selected.from, data.grain)} to {timeWords(selected.to, data.grain)}
            <button type="button" className="button tiny primary" onClick={zoom}>
              Zoom in
            </button>
            <button type="button" className="button tiny quiet" onClick={() => setSelected(undefined)}>
              Clear
            </button>
          </span>
        )}
      </div>
      <Legend data={data} at={at} format={format} emphasised={emphasised} onEmphasise={setEmphasised} />
      <AsTable data={data} title={title} format={format} />
    </section>
  );
}

const ignore = () => {};

/** Undefined: the key moves nothing. */
function movedTo(key: string, at: number, last: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    PageDown: at - page,
    PageUp: at + page,
    Home: 0,
    End: last,
  };
  const next = steps[key];
  return next === undefined || last < 0 ? undefined : Math.min(Math.max(next, 0), last);
}

/** What is selected reaches from where one began to where one is now, both points included. */
function extended({ times, grain }: ChartData, selected: Span | undefined, before: number, now: number): Span {
  const [was, is] = [times[before] ?? 0, times[now] ?? 0];
  const begun = !selected ? was : selected.from === was ? selected.to - grain : selected.from;
  return { from: Math.min(begun, is), to: Math.max(begun, is) + grain };
}

const wholeSeconds = ({ from, to }: Span): Span => ({ from: Math.floor(from), to: Math.max(Math.ceil(to), Math.floor(from) + 1) });

interface LegendProps extends Pick<PlotProps, 'data' | 'at' | 'format' | 'emphasised'> {
  onEmphasise(name: string | undefined): void;
}

/** Each series can be singled out: then all others are grey. */
const Legend = ({ data, at, format, emphasised, onEmphasise }: LegendProps) => (
  <ul className="legend">
    {data.series.map(({ name, colour, values }) => {
      const value = at === undefined ? null : (values[at] ?? null);
      return (
        <li key={name} className={`series-${colour}`}>
          <button
            type="button"
            aria-pressed={emphasised === name}
            onClick={() => onEmphasise(emphasised === name ? undefined : name)}
            title={`Show ${name} alone in colour`}
          >
            <span className="swatch" aria-hidden="true" />
            <span className="mono cut">{name}</span>
            {value !== null && <span className="value">{format(value)}</span>}
          </button>
        </li>
      );
    })}
  </ul>
);

function AsTable({ data, title, format }: Pick<PlotProps, 'data' | 'format'> & { title: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="as-table" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="small">
        <Icon name="chevron" className="small" />
        As a table
      </summary>
      {isOpen && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard
        <div className="table-scroll" tabIndex={0} role="group" aria-label={`${title}, as a table`}>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                {data.series.map(({ name }) => (
                  <th key={name} scope="col" className="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.times.map((time, n) => (
                <tr key={time}>
                  <th scope="row">{timeWords(time, data.grain)}</th>
                  {data.series.map(({ name, values }) => {
                    const value = values[n] ?? null;
                    return (
                      <td key={name} className="number">
                        {value === null ? '' : format(value)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
