/** The process that forwards logs, so that reading, writing and compressing lines takes nothing of the thread that answers requests: `node forwarder-process.ts <options>`. It ends with whoever started it. */
import { setPriority } from 'node:os';
import { trustAuthorities } from '../authorities.ts';
import { openOutbound } from '../outbound/outbound.ts';
import { openForwarder, type ForwarderEvent, type ForwardingTask } from './forwarder.ts';

export interface ProcessOptions {
  folder: string;
  allowPrivateAddresses: readonly string[];
  caCertificates: string | undefined;
}

/** To the process. The answer tells the number again, once these are forwarded and no others. */
export interface Wanted {
  number: number;
  tasks: readonly ForwardingTask[];
}

/** From the process. */
export type Told = { settled: number } | { name: string; event: ForwarderEvent };

/** What people and containers wait for comes first. */
const niceness = 5;
const countedMilliseconds = 1000;
const closeMillisecondsMax = 10_000;

if (import.meta.main) {
  // A signal to the whole group, such as that of a terminal, is for whoever started this process, who then ends it in order.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  setPriority(niceness);
  const { folder, allowPrivateAddresses, caCertificates } = JSON.parse(process.argv[2] ?? '') as ProcessOptions;
  trustAuthorities(caCertificates);
  const say = (told: Told) => process.connected && process.send?.(told);
  const sent = countSent((name, records) => say({ name, event: { is: 'sent', records } }));
  const forwarder = openForwarder({
    folder,
    network: openOutbound({ allowPrivateAddresses }),
    tell: (name, event) => (event.is === 'sent' ? sent.add(name, event.records) : say({ name, event })),
  });
  process.once('disconnect', () => {
    setTimeout(() => process.exit(), closeMillisecondsMax);
    void forwarder.close().finally(() => process.exit());
  });
  process.on('message', ({ number, tasks }: Wanted) => {
    void forwarder.want(tasks).then(() => {
      sent.tell();
      say({ settled: number });
    });
  });
}

/** Batches come by the dozen; who counts them is told once in a while. */
function countSent(tell: (name: string, records: number) => void) {
  const counts = new Map<string, number>();
  const tellAll = () => {
    for (const [name, records] of counts) tell(name, records);
    counts.clear();
  };
  setInterval(tellAll, countedMilliseconds).unref();
  return { add: (name: string, records: number) => void counts.set(name, (counts.get(name) ?? 0) + records), tell: tellAll };
}
