import { expect, test } from 'vitest';
import { addressesOf, outboundOf } from './outbound.ts';

const rule = { protocol: 'tcp', ips: [], domains: [], ports: [] } as const;

test('a domain in a rule stands for its addresses, also those it had lately; one without any lets nothing out', async () => {
  const answers = [['192.0.2.2', '192.0.2.1'], ['192.0.2.3']];
  const lookUp = async (domain: string) => {
    if (domain !== 'api.example') throw new Error('unknown');
    return answers.shift() ?? [];
  };
  const rules = [
    { ...rule, ips: ['10.0.0.0/8'], domains: [], ports: [443] },
    { ...rule, ips: [], domains: ['api.example'], ports: [] },
    { ...rule, ips: [], domains: ['nowhere.example'], ports: [80] },
  ];
  const domains = ['api.example', 'nowhere.example'];
  const machine = {};
  const resolved = (ips: string[]) => [
    { ips: ['10.0.0.0/8'], ports: [443] },
    { ips, ports: [] },
    { ips: [], ports: [80] },
  ];
  expect(outboundOf(rules, await addressesOf(machine, domains, lookUp))).toEqual(resolved(['192.0.2.1', '192.0.2.2']));
  const all = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
  expect(outboundOf(rules, await addressesOf(machine, domains, lookUp))).toEqual(resolved(all));
  expect(outboundOf(rules, await addressesOf(machine, domains, lookUp))).toEqual(resolved(all));
  // What one machine has found, another has not.
  expect(outboundOf(rules, await addressesOf({}, domains, lookUp))).toEqual(resolved([]));
});
