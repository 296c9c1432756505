/** One shell on the page. It is loaded when a terminal is opened, with xterm, and not before. */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState } from 'react';
import type { Link } from '../api/link.ts';
import { FailureNotice } from '../ui/notice.tsx';
import { documentUnderPolicy, withStylesUnderPolicy } from './styles-under-policy.ts';
import { connectTerminal, type TerminalConnection } from './terminal-connection.ts';

const scrollbackLines = 5000;

interface Screen {
  link: Link;
  destination: string;
}

/** A shell that ended stays on the page, with the way to a new one. */
export function TerminalScreen({ link, destination }: Screen) {
  const [attempt, setAttempt] = useState(0);
  const [end, setEnd] = useState<string>();
  const again = () => {
    setEnd(undefined);
    setAttempt(attempt + 1);
  };
  return (
    <>
      <Shell key={attempt} link={link} destination={destination} onEnd={setEnd} />
      {end !== undefined && (
        <FailureNotice>
          <p>{end}</p>
          <button type="button" className="button tiny" onClick={again}>
            Connect again
          </button>
        </FailureNotice>
      )}
    </>
  );
}

function Shell({ link, destination, onEnd }: Screen & { onEnd(sentence: string): void }) {
  const place = useRef<HTMLDivElement>(null);
  // The environment is read anew now and then, and its links with it: that is no reason to open another shell.
  const [first] = useState(link);
  useEffect(() => (place.current ? openScreen(place.current, first, destination, onEnd) : undefined), [first, destination, onEnd]);
  return <div className="terminal-screen" ref={place} role="group" aria-label={`Terminal in ${destination}`} />;
}

/** Answers how to leave it. */
function openScreen(place: HTMLElement, link: Link, destination: string, onEnd: (sentence: string) => void): () => void {
  const colours = getComputedStyle(place);
  const terminal = new Terminal({
    documentOverride: documentUnderPolicy(),
    scrollback: scrollbackLines,
    fontFamily: colours.fontFamily,
    fontSize: 13,
    theme: { background: colours.backgroundColor, foreground: colours.color, cursor: colours.color },
    screenReaderMode: true,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  withStylesUnderPolicy(() => terminal.open(place));
  fit.fit();
  terminal.focus();
  let connection: TerminalConnection | undefined;
  let isLeft = false;
  const sized = new ResizeObserver(() => fit.fit());
  sized.observe(place);
  terminal.onData((text) => connection?.type(text));
  terminal.onResize(({ cols, rows }) => connection?.resize(cols, rows));
  const connecting = connectTerminal(link, destination, {
    output: (bytes) => terminal.write(bytes),
    ended: (exitCode) => !isLeft && onEnd(exitCode === undefined ? 'The connection was closed.' : `The shell ended with ${exitCode}.`),
  });
  connecting.then(
    (opened) => {
      connection = opened;
      if (isLeft) opened.close();
      else opened.resize(terminal.cols, terminal.rows);
    },
    (error: Error) => !isLeft && onEnd(error.message),
  );
  return () => {
    isLeft = true;
    sized.disconnect();
    connection?.close();
    terminal.dispose();
  };
}
