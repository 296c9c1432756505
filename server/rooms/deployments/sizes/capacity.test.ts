import { expect, test } from 'vitest';
import { sampleStack, shop } from '../../../testing/stack.ts';
import type { Amounts } from './amounts.ts';
import { amountsOf, refuseWhatDoesNotFit } from './capacity.ts';

const { sizes } = sampleStack();
const none: Amounts = { cpu: 0, memory: 0, disk: 0 };

test('a deployment is given what all its instances and services may use, and all its disks', () => {
  // shop 2 x 1 CPU of HIGH_CPU, api and queue 0.5 each, db 0.5 of HIGH_MEMORY, cache and memory 0.1 of BALANCED; 275 MB of logs for
  // each of the apps and workers, and for the edge.
  expect(amountsOf(shop(), sizes)).toEqual({
    cpu: expect.closeTo(2 + 0.5 + 0.5 + 0.5 + 0.1 + 0.1),
    memory: 2 * 384 + 224 + 224 + 1408 + 352 + 352,
    disk: 1024 + 512 + 4 * 275,
  });
});

const balance = (changes: Partial<Parameters<typeof refuseWhatDoesNotFit>[0]>) => () =>
  refuseWhatDoesNotFit({
    wanted: { cpu: 1, memory: 1000, disk: 1000 },
    before: none,
    others: { cpu: 4, memory: 6000, disk: 9000 },
    there: { cpu: 2, memory: 2000, disk: 10_000 },
    overcommit: { cpu: 4, memory: 4, disk: 1 },
    ...changes,
  });

test('as much is given out as the operator allows, and not more: what is full is named, with what there is', () => {
  expect(balance({})).not.toThrow();
  expect(balance({ wanted: { cpu: 1, memory: 2001, disk: 1001 } })).toThrow(
    /^This machine is full\. memory: 2001 MB are needed, others have 6000 MB, and 8000 MB can be given out \(4 times what there is\); disk: 1001 MB are needed, .* Choose smaller sizes, or pause or delete/,
  );
  expect(balance({ wanted: { cpu: 4.1, memory: 1, disk: 1 } })).toThrow(
    /processors: 4\.1 CPU are needed, others have 4 CPU, and 8 CPU can be/,
  );
});

test('what does not grow is never refused, however full the machine is', () => {
  const wanted = { cpu: 1, memory: 1000, disk: 1000 };
  const others = { cpu: 400, memory: 600_000, disk: 900_000 };
  expect(balance({ wanted, others, before: wanted })).not.toThrow();
  expect(balance({ wanted: { ...wanted, memory: 1001 }, others, before: wanted })).toThrow(/full\. memory: [^;]*$/);
});
