/** Proves names to an authority by TXT records: DNS-01, for which they come and go, and DNS-PERSIST-01, for which they stay. */
import type { DnsProof, Proof, Solver } from '../acme/proofs.ts';
import type { DnsRecords } from './dns-records.ts';
import { type DnsView, type DnsViewOptions, openDnsView } from './dns-view.ts';

export interface DnsSolverOptions extends DnsViewOptions {
  records: DnsRecords;
}

/** Where `_acme-challenge.example.org` is an alias, the record is set where it leads: so a domain can be delegated without giving it away. */
export function openDnsSolver({ records, ...options }: DnsSolverOptions): Solver {
  const view = openDnsView(options);
  const place = (proof: Proof) => view.endOfAliases(recordIn(proof).record);
  return {
    kind: 'dns-01',
    canServe: async (proof) => records.covers(recordIn(proof).record) || records.covers(await place(proof)),
    serve: async (proof, signal) => records.set(await place(proof), recordIn(proof).value, signal),
    isSeen: async (proof) => view.hasText(await place(proof), recordIn(proof).value),
    withdraw: async (proof, signal) => records.unset(await place(proof), recordIn(proof).value, signal),
  };
}

/** For zones that this platform may change: the record is set once, and stays. */
export function openPersistentDnsSolver({ records, ...options }: DnsSolverOptions): Solver {
  const view = openDnsView(options);
  return {
    kind: 'dns-persist-01',
    canServe: (proof) => records.covers(recordIn(proof).record),
    serve: async (proof, signal) => {
      const { record, value } = recordIn(proof);
      if (!(await view.hasText(record, value))) await records.set(record, value, signal);
    },
    isSeen: (proof) => isStanding(view, proof),
    withdraw: () => Promise.resolve(),
  };
}

/** For zones of others, who have set the record that they were told of: it is used where it stands. */
export function openStandingDnsSolver(options: DnsViewOptions = {}): Solver {
  const view = openDnsView(options);
  return {
    kind: 'dns-persist-01',
    canServe: (proof) => isStanding(view, proof),
    serve: () => Promise.resolve(),
    withdraw: () => Promise.resolve(),
  };
}

const isStanding = (view: DnsView, proof: Proof) => {
  const { record, value } = recordIn(proof);
  return view.hasText(record, value);
};

const recordIn = (proof: Proof): DnsProof => {
  if (!('record' in proof)) throw new TypeError(`${proof.kind} is not proven by DNS`);
  return proof;
};
