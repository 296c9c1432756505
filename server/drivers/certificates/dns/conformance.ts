/** What every way to change DNS must do, by example. */
import { describe, expect, test } from 'vitest';
import type { DnsRecords } from './dns-records.ts';

export interface DnsWorld {
  records: DnsRecords;
  /** A domain whose records can be changed. */
  domain: string;
  /** The TXT records that a name has. */
  textsOf(name: string): Promise<string[]>;
}

export function dnsRecordsConformance(kind: string, world: () => DnsWorld, runs = true) {
  describe.runIf(runs)(`DNS records: ${kind}`, () => {
    const nameOf = (label: string) => `_acme-challenge.${label}.${world().domain}`;

    test('a record is there once it is set, and gone once it is unset', async () => {
      const { records, textsOf } = world();
      await records.set(nameOf('once'), 'value-1');
      expect(await textsOf(nameOf('once'))).toEqual(['value-1']);
      await records.unset(nameOf('once'), 'value-1');
      expect(await textsOf(nameOf('once'))).toEqual([]);
    });

    test('a name has several values, and each goes alone', async () => {
      const { records, textsOf } = world();
      for (const value of ['value-1', 'value-2']) await records.set(nameOf('several'), value);
      expect((await textsOf(nameOf('several'))).toSorted()).toEqual(['value-1', 'value-2']);
      await records.unset(nameOf('several'), 'value-1');
      expect(await textsOf(nameOf('several'))).toEqual(['value-2']);
      await records.unset(nameOf('several'), 'value-2');
    });

    test('set and unset bear repetition', async () => {
      const { records, textsOf } = world();
      for (let n = 0; n < 2; n += 1) await records.set(nameOf('twice'), 'value-1');
      expect(await textsOf(nameOf('twice'))).toEqual(['value-1']);
      for (let n = 0; n < 2; n += 1) await records.unset(nameOf('twice'), 'value-1');
      expect(await textsOf(nameOf('twice'))).toEqual([]);
    });

    test('it knows which names are its business', () => {
      const { records, domain } = world();
      expect([domain, `a.b.${domain}`, `x${domain}`, 'example.org'].map((name) => records.covers(name))).toEqual([
        true,
        true,
        false,
        false,
      ]);
    });

    test('texts longer than one piece of DNS arrive whole', async () => {
      const { records, textsOf } = world();
      const long = `pebble.test; accounturi=https://127.0.0.1/${'a'.repeat(300)}`;
      await records.set(nameOf('long'), long);
      expect(await textsOf(nameOf('long'))).toEqual([long]);
      await records.unset(nameOf('long'), long);
    });
  });
}
