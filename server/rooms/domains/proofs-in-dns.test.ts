import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDynamicUpdate } from '../../drivers/certificates/dns/dynamic-update.ts';
import { openTestKnot, testZone, type TestKnot } from '../../drivers/certificates/test-knot.ts';
import { canBringPrograms, whyNoPrograms } from '../../drivers/certificates/test-programs.ts';
import { openDomainProofs } from '../../drivers/domain-proofs/domain-proofs.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';

let home: TestPlatform;
let knot: TestKnot | undefined;
beforeAll(async () => {
  if (!canBringPrograms) return;
  knot = await openTestKnot();
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_DOMAIN_VERIFICATION: 'required' });
  const reach = { allowPrivateAddresses: ['127.0.0.0/8'], nameServers: [knot.server], httpPort: 9 };
  Object.assign(home.platform, { domainProofs: openDomainProofs(reach) });
});
afterAll(() => knot?.close());

describe.runIf(canBringPrograms)(`a name server${whyNoPrograms}`, () => {
  test('proves whose a name is by the TXT record that was asked for, and by no other', async () => {
    const { port, key } = knot as TestKnot;
    const records = openDynamicUpdate({ server: { host: '127.0.0.1', port }, domains: [testZone], key });
    const ada = await home.person();
    const { projectId } = await sampleProject(ada);
    const add = () => ada.send('POST', `/projects/${projectId}/domains`, { name: `www.${testZone}` });
    const refused = await add();
    expect(refused.status).toBe(400);
    const [, record = '', value = ''] = /TXT record (\S+) to "([^"]+)"/.exec(refused.json.message) ?? [];
    expect(record).toBe(`_offshoot-challenge.${testZone}`);
    await records.set(record, `${value}x`);
    expect((await add()).status).toBe(400);
    await records.set(record, value);
    expect(await add()).toMatchObject({ status: 201, json: { _embedded: { entity: { registered_name: testZone } } } });
  });
});
