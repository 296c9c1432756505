/** The lines of a log, of which only those in sight are drawn: a hundred thousand scroll as lightly as ten. */
import { useRouter } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useRef } from 'react';
import { duration } from '../ui/age.tsx';
import { Icon } from '../ui/icon.tsx';
import { Glyph, type Standing } from '../ui/status.tsx';
import { runsOf } from './ansi.ts';
import { lineOf, rowAt, type LogRow } from './log-rows.ts';
import type { LogLine, Step } from './steps.ts';

const lineHeight = 19;
const rowsBeyondSight = 8;
const nearEndPixels = 24;

interface LogLines {
  rows: readonly LogRow[];
  /** Where the whole log is. */
  address: string;
  /** Whether it goes on, so that its end is in sight as long as nobody scrolls away from it. */
  follows: boolean;
  isLive: boolean;
  standingOfLast: Standing | 'done';
  /** The line that is shown, by its number: that of the address, or the one that was found. */
  shown: number | undefined;
  search: string;
  onFollow(follows: boolean): void;
  onToggle(step: Step, isOpen: boolean): void;
}

export function LogLines({ rows, follows, isLive, shown, onFollow, ...others }: LogLines) {
  const list = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- what it returns is used in this component alone, and drawn anew each time
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => list.current,
    estimateSize: () => lineHeight,
    getItemKey: (index) => (rows[index] ? lineOf(rows[index]).number : index),
    overscan: rowsBeyondSight,
    useFlushSync: false,
  });
  const count = rows.length;
  useEffect(() => {
    if (follows && isLive && count > 0) virtual.scrollToIndex(count - 1, { align: 'end' });
  }, [count, follows, isLive, virtual]);
  const shownRow = shown === undefined ? undefined : rowAt(rows, shown);
  useEffect(() => {
    if (shownRow !== undefined) virtual.scrollToIndex(shownRow, { align: 'center' });
  }, [shownRow, shown, virtual]);
  return (
    <div
      className="log-lines"
      ref={list}
      role="group"
      aria-label="Lines"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
        onFollow(scrollHeight - scrollTop - clientHeight < nearEndPixels)
      }
    >
      <ol style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index];
          return (
            row && (
              <li
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                aria-setsize={count}
                aria-posinset={index + 1}
                id={`L${lineOf(row).number}`}
                className={lineOf(row).number === shown ? 'shown' : undefined}
                style={{ transform: `translateY(${start}px)` }}
              >
                <Row row={row} {...others} />
              </li>
            )
          );
        })}
      </ol>
    </div>
  );
}

type RowProps = Pick<LogLines, 'address' | 'standingOfLast' | 'search' | 'onToggle'> & { row: LogRow };

/** While somebody scrolls, rows come and go; those that stay are not drawn again. */
const Row = memo(RowDrawn);

function RowDrawn({ row, address, standingOfLast, search, onToggle }: RowProps) {
  if ('line' in row) return <Line line={row.line} address={address} search={search} />;
  const { step, isOpen, isLast, hasFailed } = row;
  const standing = hasFailed ? 'failed' : isLast ? standingOfLast : 'done';
  return (
    <button type="button" className="step" aria-expanded={isOpen} onClick={() => onToggle(step, !isOpen)}>
      <Icon name="chevron" className="chevron" />
      <Glyph of={standing} />
      <Coloured text={step.head.text} search={search} />
      <span className="push">
        {!isOpen && `${step.lines.length} lines, `}
        {standing !== 'building' && duration(step.head.at, step.lines.at(-1)?.at ?? step.head.at)}
      </span>
    </button>
  );
}

/** A plain link: hundreds of lines pass in a moment of scrolling, and each of the router's own links watches where one is. */
function Line({ line, address, search }: { line: LogLine; address: string; search: string }) {
  const { history } = useRouter();
  const href = `${address}#L${line.number}`;
  const go = (event: React.MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.push(href);
  };
  return (
    <>
      <a className="n" href={href} aria-label={`Line ${line.number}`} onClick={go}>
        {line.number}
      </a>
      <Coloured text={line.text} search={search} />
    </>
  );
}

const Coloured = ({ text, search }: { text: string; search: string }) => (
  <span>
    {runsOf(text).map((run, n) => (
      <span key={n} className={run.classes || undefined}>
        <Marked text={run.text} search={search} />
      </span>
    ))}
  </span>
);

function Marked({ text, search }: { text: string; search: string }) {
  const at = search === '' ? -1 : text.toLowerCase().indexOf(search.toLowerCase());
  if (at < 0) return text;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + search.length)}</mark>
      <Marked text={text.slice(at + search.length)} search={search} />
    </>
  );
}
