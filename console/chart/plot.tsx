/** What is drawn of a chart, on a canvas by uPlot. It is loaded with the first chart, and not before; what is read out is in chart.tsx. */
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type ChartData, stacked } from './chart-data.ts';

export interface Span {
  from: number;
  to: number;
}

export interface PlotProps {
  data: ChartData;
  kind: 'stacked' | 'lines';
  format(value: number): string;
  range: Span;
  /** The point that is looked at. */
  at: number | undefined;
  selected: Span | undefined;
  /** The only series that keeps its colour. */
  emphasised: string | undefined;
  onLook(at: number | undefined): void;
  onSelect(span: Span | undefined): void;
}

const plotHeight = 190;
const [axisWidth, axisHeight] = [64, 28];
/** A range that is shorter than this has seconds on its axis. */
const shortSeconds = 300;

export function Plot(props: PlotProps) {
  const { data, kind, format, range, at, selected, emphasised, onLook, onSelect } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef<Latest>({ at, selected, emphasised, onLook, onSelect });
  useEffect(() => {
    latest.current = { at, selected, emphasised, onLook, onSelect };
  });
  const { from, to } = range;
  useEffect(() => {
    if (!place.current) return;
    const drawn = draw(place.current, { data, kind, format, from, to }, latest);
    plot.current = drawn.plot;
    return drawn.end;
  }, [data, kind, format, from, to]);
  useEffect(() => lookAt(plot.current, data, at), [at, data]);
  useEffect(() => select(plot.current, selected, { from, to }), [selected, from, to]);
  useEffect(() => redraw(plot.current, emphasised), [emphasised]);
  return <div ref={place} className="plot-canvas" />;
}

interface Drawing extends Pick<PlotProps, 'data' | 'kind' | 'format'>, Span {}

/** What changes without a new drawing. */
type Latest = Pick<PlotProps, 'at' | 'selected' | 'emphasised' | 'onLook' | 'onSelect'>;

function draw(place: HTMLElement, drawing: Drawing, latest: { readonly current: Latest }) {
  const { data, kind, format, from, to } = drawing;
  const colour = colours(place);
  const axis = { stroke: () => colour('--ink-quiet'), grid: { stroke: () => colour('--edge'), width: 1 }, ticks: { show: false } };
  const plot = new uPlot(
    {
      width: Math.max(place.clientWidth, 1),
      height: plotHeight,
      legend: { show: false },
      cursor: { y: false, points: { show: kind === 'lines' }, drag: { x: true, y: false, setScale: false, dist: 4 } },
      scales: { x: { range: [from, to] }, y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.05 : 1] } },
      axes: [
        { ...axis, font: '11px system-ui', size: axisHeight, values: (_plot, times) => times.map((time) => axisTime(time, to - from)) },
        { ...axis, font: '11px system-ui', size: axisWidth, values: (_plot, values) => values.map(format) },
      ],
      series: [{}, ...seriesOf(drawing, colour, () => latest.current.emphasised)],
      hooks: {
        ready: [
          (own) => {
            lookAt(own, data, latest.current.at);
            select(own, latest.current.selected, { from, to });
          },
        ],
        setCursor: [({ cursor: { idx, left = -1 } }) => latest.current.onLook(left < 0 ? undefined : (idx ?? undefined))],
        setSelect: [
          (own) => {
            const { left, width } = own.select;
            latest.current.onSelect(width > 0 ? { from: own.posToVal(left, 'x'), to: own.posToVal(left + width, 'x') } : undefined);
          },
        ],
      },
    },
    dataOf(data, kind),
    place,
  );
  const sized = new ResizeObserver(() => plot.setSize({ width: Math.max(place.clientWidth, 1), height: plotHeight }));
  sized.observe(place);
  const unfollow = whenColoursChange(() => plot.redraw(false));
  selectByTouch(plot);
  return {
    plot,
    end: () => {
      unfollow();
      sized.disconnect();
      plot.destroy();
      place.replaceChildren();
    },
  };
}

/** A finger that moved less than this points at something, and selects nothing. */
const touchPixelsMin = 8;

/** uPlot hears only mice. A finger that goes sideways selects as a mouse does; one that goes up or down scrolls the page (touch-action in chart.css). */
function selectByTouch(plot: uPlot) {
  const { over } = plot;
  let start: number | undefined;
  const placeOf = ({ clientX }: PointerEvent) => Math.min(Math.max(clientX - over.getBoundingClientRect().left, 0), over.clientWidth);
  const selectUntil = (end: number, isDone: boolean) => {
    if (start === undefined || Math.abs(end - start) < touchPixelsMin) return;
    plot.setSelect({ left: Math.min(start, end), top: 0, width: Math.abs(end - start), height: over.clientHeight }, isDone);
  };
  over.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'touch') return;
    start = placeOf(event);
    over.setPointerCapture(event.pointerId);
    plot.setCursor({ left: start, top: 1 });
  });
  over.addEventListener('pointermove', (event) => {
    if (start === undefined) return;
    plot.setCursor({ left: placeOf(event), top: 1 });
    selectUntil(placeOf(event), false);
  });
  over.addEventListener('pointerup', (event) => {
    selectUntil(placeOf(event), true);
    start = undefined;
  });
  over.addEventListener('pointercancel', () => (start = undefined));
}

/** A point stands in the middle of what it tells of. What is stacked is drawn from the highest sum down, so that each series covers all of the one above but its own part. */
function dataOf({ times, grain, series }: ChartData, kind: PlotProps['kind']): uPlot.AlignedData {
  const values = kind === 'stacked' ? stacked(series).toReversed() : series.map((each) => [...each.values]);
  return [times.map((time) => time + grain / 2), ...values];
}

function seriesOf({ data, kind }: Drawing, colour: (name: string) => string, emphasised: () => string | undefined): uPlot.Series[] {
  const bars = uPlot.paths.bars?.({ size: [0.92, 48] });
  return (kind === 'stacked' ? data.series.toReversed() : data.series).map(({ name, colour: nth }) => {
    const own = () => colour(nth === 0 || (emphasised() ?? name) !== name ? '--series-rest' : `--series-${nth}`);
    if (kind === 'stacked') return { stroke: own, fill: own, width: 0, points: { show: false }, ...(bars && { paths: bars }) };
    return { stroke: own, width: 1.75, points: { show: true, size: 4, fill: own, filter: lonelyPoints } };
  });
}

/** A line has two ends, so what was measured only once is drawn as a point. */
function lonelyPoints({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? [];
  const isAbsent = (n: number) => (values[n] ?? null) === null;
  return [...values.keys()].filter((n) => !isAbsent(n) && isAbsent(n - 1) && isAbsent(n + 1));
}

/** A canvas knows nothing of custom properties: what they come to is asked of an element, each time that something is drawn. */
function colours(place: HTMLElement): (name: string) => string {
  const probe = place.ownerDocument.createElement('i');
  probe.hidden = true;
  place.append(probe);
  return (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
}

function whenColoursChange(redraw: () => void): () => void {
  const themes = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)'].map((question) => matchMedia(question));
  for (const theme of themes) theme.addEventListener('change', redraw);
  const chosen = new MutationObserver(redraw);
  chosen.observe(document.documentElement, { attributes: true });
  return () => {
    for (const theme of themes) theme.removeEventListener('change', redraw);
    chosen.disconnect();
  };
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const clockSeconds = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

function axisTime(seconds: number, length: number): string {
  const time = new Date(seconds * 1000);
  if (time.getHours() === 0 && time.getMinutes() === 0 && time.getSeconds() === 0) return day.format(time);
  return (length < shortSeconds ? clockSeconds : clock).format(time);
}

/** A drawing knows where a time is only once it was drawn; then it is told what was looked at and selected meanwhile. */
const isDrawn = (plot: uPlot | undefined): plot is uPlot => plot?.status === 1;

/** Moved by the keyboard; the pointer moves it by itself. */
function lookAt(plot: uPlot | undefined, { times, grain }: ChartData, at: number | undefined) {
  if (!isDrawn(plot) || plot.cursor.idx === at || (at === undefined && (plot.cursor.left ?? -1) < 0)) return;
  const time = at === undefined ? undefined : times[at];
  plot.setCursor(time === undefined ? { left: -10, top: -10 } : { left: plot.valToPos(time + grain / 2, 'x'), top: 1 }, false);
}

/** As far as it is within what is shown. */
function select(plot: uPlot | undefined, selected: Span | undefined, { from, to }: Span) {
  if (!isDrawn(plot)) return;
  if (!selected) return plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  const [left, right] = [Math.max(selected.from, from), Math.min(selected.to, to)].map((time) => plot.valToPos(time, 'x')) as [
    number,
    number,
  ];
  plot.setSelect({ left, top: 0, width: Math.max(0, right - left), height: plot.over.clientHeight }, false);
}

/** The colours ask which series is emphasised. */
const redraw = (plot: uPlot | undefined, _emphasised: string | undefined) => plot?.redraw(false);
