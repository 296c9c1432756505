/** What is counted of forwarded logs, by the type of the integration, for operators. */
import type { ForwarderEvent } from '../../../drivers/log-sinks/forwarder.ts';
import { sinkTypes } from '../../../drivers/log-sinks/open-sink.ts';
import { gauge, openCounter, type Family } from '../../../kernel/instruments.ts';

export interface ForwardingState {
  type: string;
  isTroubled: boolean;
}

export function openForwardingInstruments() {
  const records = openCounter('offshoot_log_forwarding_records_total', 'Lines of logs by what sinks did with them.', ['type', 'result']);
  const lost = openCounter('offshoot_log_forwarding_lost_bytes_total', 'Bytes of logs that were rotated away before they could be sent.', [
    'type',
  ]);
  // What never happened is zero, and not absent.
  for (const type of sinkTypes) {
    for (const result of ['taken', 'refused']) records.add([type, result], 0);
    lost.add([type], 0);
  }
  return {
    count: (type: string, event: ForwarderEvent): void => {
      if (event.is === 'sent') records.add([type, 'taken'], event.records);
      else if (event.is === 'refused') records.add([type, 'refused'], event.records);
      else if (event.is === 'lost') lost.add([type], event.bytes);
    },
    families: (states: readonly ForwardingState[]): Family[] => [records.family(), lost.family(), forwardings(states)],
  };
}

const forwardings = (states: readonly ForwardingState[]): Family =>
  gauge(
    'offshoot_log_forwardings',
    'Environments whose logs are sent to an integration, by whether it takes them.',
    sinkTypes.flatMap((type) =>
      [false, true].map((isTroubled) => ({
        labels: { type, state: isTroubled ? 'waiting' : 'well' },
        value: states.filter((each) => each.type === type && each.isTroubled === isTroubled).length,
      })),
    ),
  );
