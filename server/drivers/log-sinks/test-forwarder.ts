/** Forwards logs in a process of its own, to be killed: `node test-forwarder.ts <asked>`. */
import { forwardLogs } from './forward-logs.ts';
import { openSink } from './open-sink.ts';
import { testNetwork } from './test-network.ts';

export interface Asked {
  logs: string;
  positions: string;
  url: string;
}

if (import.meta.main) {
  // When the parent process ends, this one ends, too.
  process.stdin.once('end', () => process.exit()).resume();
  const { logs, positions, url } = JSON.parse(process.argv[2] ?? '') as Asked;
  await forwardLogs({
    logs,
    positions,
    sink: openSink({ type: 'httplog', url, tls_verify: true }, testNetwork()),
    context: { project: 'p1', environment: 'main', extra: {} },
    excludedServices: [],
    isRedacted: false,
    tell: () => {},
    firstPauseSeconds: 0.05,
  });
  console.log('forwarding');
}
