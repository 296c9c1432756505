import { useState } from 'react';
import { Icon } from './icon.tsx';

const saidMilliseconds = 1500;

export function CopyButton({ text, label, className = '' }: { text: string; label: string; className?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), saidMilliseconds);
  };
  return (
    <button type="button" className={`icon-button tiny ${className}`} aria-label={copied ? 'Copied' : label} onClick={() => void copy()}>
      <Icon name={copied ? 'check' : 'copy'} className="small" />
    </button>
  );
}

/** Commands to type or to send, as they are. */
export const Snippet = ({ text, label }: { text: string; label: string }) => (
  <div className="snippet">
    {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard */}
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
    <CopyButton text={text} label={label} className="copy" />
  </div>
);
