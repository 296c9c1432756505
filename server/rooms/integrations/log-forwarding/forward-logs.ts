/**
 * Keeps the logs of environments forwarded to the integrations that are for them, in a process of its own (drivers/log-sinks). Which these are is compared with what is
 * forwarded from time to time, and at once when an integration comes, changes or goes (0058_log_forwarding.sql) or an environment gets its first log.
 */
import { join } from 'node:path';
import type { ForwarderEvent } from '../../../drivers/log-sinks/forwarder.ts';
import { startForwarder, type StartedForwarder } from '../../../drivers/log-sinks/start-forwarder.ts';
import { keepLooking, type Looking } from '../../../drivers/logs/keep-looking.ts';
import { environmentsWithLogs } from '../../../drivers/logs/log-folders.ts';
import type { Family } from '../../../kernel/instruments.ts';
import { nudge, type Reconciler } from '../../../kernel/reconciler.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import { logsFolder } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { openForwardingInstruments } from './forwarding-instruments.ts';
import { hear, tellNews, unknownCondition, type Condition } from './forwarding-news.ts';
import { wantedForwardings, type WantedForwarding } from './wanted-forwardings.ts';

interface LogForwarding {
  forwarder: StartedForwarder;
  wanted: ReadonlyMap<string, WantedForwarding>;
  conditions: Map<string, Condition>;
  instruments: ReturnType<typeof openForwardingInstruments>;
  /** Looks for environments whose first log appears. */
  watching?: Looking;
}

export const forwardLogs: Reconciler = {
  name: 'forward logs',
  everySeconds: 15,
  usesMachine: true,
  run: async (platform) => {
    const forwarding = forwardingOf(platform);
    const wanted = await wantedForwardings(platform);
    forwarding.wanted = new Map(wanted.map((each) => [each.task.name, each]));
    for (const name of forwarding.conditions.keys()) if (!forwarding.wanted.has(name)) forwarding.conditions.delete(name);
    await forwarding.forwarder.want(wanted.map(({ task }) => task));
    forwarding.watching ??= watchLogs(platform);
    for (const [name, condition] of forwarding.conditions) {
      const of = forwarding.wanted.get(name);
      if (of) await tellNews(platform.db, of, condition, Date.now());
    }
  },
  close: async (platform) => {
    const { forwarder, watching } = forwardingOf(platform);
    await watching?.close();
    await forwarder.close();
  },
};

/** Where forwardings keep how far they have come, and how much sinks took. */
export const forwardingFolder = ({ data }: Pick<Platform['config'], 'data'>) => join(data, 'log-forwarding');

/** Its process, while there is one. */
export const forwarderPid = (platform: Platform): number | undefined => forwardingOf(platform).forwarder.pid();

const forwardingOf = stateOf<Platform, LogForwarding>(({ config, log }) => {
  const forwarding: LogForwarding = {
    wanted: new Map(),
    conditions: new Map(),
    instruments: openForwardingInstruments(),
    forwarder: startForwarder({
      folder: forwardingFolder(config),
      allowPrivateAddresses: config.allowPrivateAddresses,
      caCertificates: config.caCertificates,
      say: (sentence) => log.warn(sentence),
      tell: (name, event) => note(forwarding, name, event),
    }),
  };
  return forwarding;
});

function note({ wanted, conditions, instruments }: LogForwarding, name: string, event: ForwarderEvent) {
  const of = wanted.get(name);
  if (!of) return;
  const condition = conditions.get(name) ?? unknownCondition();
  conditions.set(name, condition);
  hear(condition, event, Date.now());
  instruments.count(of.type, event);
}

function watchLogs({ db, config, log }: Platform): Looking {
  let known: string | undefined;
  const look = async () => {
    const found = (await environmentsWithLogs(logsFolder(config))).toSorted().join();
    const isNew = known !== undefined && known !== found;
    known = found;
    if (isNew) await nudge(db, forwardLogs);
    return isNew;
  };
  return keepLooking(logsFolder(config), () =>
    look().catch((error: unknown) => {
      log.warn({ error }, 'the folder of logs cannot be read');
      return false;
    }),
  );
}

export function forwardingFamilies(platform: Platform): Family[] {
  const { wanted, conditions, instruments } = forwardingOf(platform);
  return instruments.families([...wanted].map(([name, { type }]) => ({ type, isTroubled: conditions.get(name)?.trouble !== undefined })));
}
