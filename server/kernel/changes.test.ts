import { afterEach, expect, test, vi } from 'vitest';
import { openChangeHub } from './changes.ts';

type Hear = (text: string | undefined) => void;

function openHub() {
  let hear: Hear = () => {};
  const hub = openChangeHub({
    on: (_topic, listener) => {
      hear = listener;
      return () => {};
    },
  });
  const tell = (name: string) => hear(JSON.stringify({ kind: 'environment', segments: ['environments', name], scope: {} }));
  return { hub, tell, loseConnection: () => hear(undefined) };
}

afterEach(() => vi.useRealTimers());

test('a slow reader is told once of a thing that changed often, and of the loss where too many things changed', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  const { hub, tell } = openHub();
  const watch = hub.watch('ada', undefined);
  expect(watch.take()).toMatchObject({ changes: [], hasLost: true });
  for (let n = 0; n < 10; n++) {
    tell('main');
    vi.runOnlyPendingTimers();
  }
  expect(watch.take()).toMatchObject({ changes: [{ segments: ['environments', 'main'] }], hasLost: false });
  for (let n = 0; n < 501; n++) tell(`feature-${n}`);
  vi.runOnlyPendingTimers();
  expect(watch.take()).toMatchObject({ changes: [], hasLost: true });
  expect(watch.take()).toMatchObject({ changes: [], hasLost: false });
  hub.close();
});

test('who comes back goes on from where they were, unless changes since then are no longer known', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  const { hub, tell, loseConnection } = openHub();
  const before = hub.watch('ada', undefined);
  const { position } = before.take();
  before.end();
  tell('main');
  vi.runOnlyPendingTimers();
  expect(hub.watch('ada', position).take()).toMatchObject({ changes: [{ segments: ['environments', 'main'] }], hasLost: false });
  const kept = hub.watch('ada', position);
  loseConnection();
  expect(kept.take()).toMatchObject({ changes: [], hasLost: true });
  expect(hub.watch('ada', position).take()).toMatchObject({ hasLost: true });
  hub.close();
});
