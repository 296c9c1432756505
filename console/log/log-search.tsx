/** A search in all lines of a log, also in those that are not drawn, which the browser's own would not find. */
import { useState } from 'react';
import { Icon } from '../ui/icon.tsx';

interface LogSearch {
  typed: string;
  /** The numbers of the lines that were found. */
  lines: readonly number[];
  onType(text: string): void;
  onShow(line: number): void;
}

export function LogSearch({ typed, lines, onType, onShow }: LogSearch) {
  const [at, setAt] = useState(0);
  const show = (to: number) => {
    const next = (to + lines.length) % lines.length;
    const line = lines[next];
    setAt(next);
    if (line !== undefined) onShow(line);
  };
  return (
    <form
      className="log-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        show(at + 1);
      }}
    >
      <input
        className="input"
        type="search"
        aria-label="Search in the log"
        placeholder="Search"
        autoComplete="off"
        value={typed}
        onChange={({ target }) => {
          setAt(-1);
          onType(target.value);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !event.shiftKey) return;
          event.preventDefault();
          show(at - 1);
        }}
      />
      {typed !== '' && (
        <>
          <span className="small quiet nowrap" role="status">
            {lines.length === 0
              ? 'Not found'
              : at < 0
                ? `${lines.length} found`
                : `${Math.min(at, lines.length - 1) + 1} of ${lines.length}`}
          </span>
          <button
            type="button"
            className="icon-button tiny"
            aria-label="The one before"
            disabled={lines.length === 0}
            onClick={() => show(at - 1)}
          >
            <Icon name="chevron" className="small turned-up" />
          </button>
          <button type="submit" className="icon-button tiny" aria-label="The next one" disabled={lines.length === 0}>
            <Icon name="chevron" className="small turned-down" />
          </button>
        </>
      )}
    </form>
  );
}
