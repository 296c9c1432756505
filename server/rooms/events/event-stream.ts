/**
 * Changes as server-sent events. `change` names the address of what changed; `reset` says that changes were lost, so that everything has to be looked at
 * again; an id alone is a heartbeat. The stream ends with the access token, and when the person is signed out.
 */
import type { Change, Watch } from '../../kernel/changes.ts';
import type { Sight } from './visible-changes.ts';

export const eventStreamType = 'text/event-stream';
const retryMilliseconds = 2000;

/** Watching begins at once, and not when the first part is read: it ends when the client is gone, whether any was. */
export function eventStream(watch: Watch, sight: Sight, gone: AbortSignal): AsyncIterable<string> {
  const end = () => {
    watch.end();
    sight.end();
  };
  gone.addEventListener('abort', end, { once: true });
  return tell(watch, sight, gone, end);
}

async function* tell(watch: Watch, sight: Sight, gone: AbortSignal, end: () => void): AsyncGenerator<string> {
  try {
    yield `retry: ${retryMilliseconds}\n\n`;
    while (!gone.aborted) {
      const news = watch.take();
      const visible = await sight.visible(news.changes);
      if (!visible) return;
      const text = news.hasLost ? 'event: reset\ndata: {}\n' : visible.map(eventOf).join('');
      // What others see is not even a reason to tell that there is nothing; the next heartbeat is.
      if (text !== '' || news.changes.length === 0) yield `${text}id: ${news.position}\n\n`;
      await watch.wait();
    }
  } finally {
    end();
  }
}

const eventOf = ({ kind, segments }: Change) => `event: change\ndata: ${JSON.stringify({ kind, path: pathOf(segments) })}\n\n`;

const pathOf = (segments: readonly string[]) => `/${segments.map(encodeURIComponent).join('/')}`;
