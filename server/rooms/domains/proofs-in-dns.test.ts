import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDynamicUpdate } from '../../drivers/certificates/dns/dynamic-update.ts';
import { fixedZone, openTestKnot, testZone, type TestKnot } from '../../drivers/certificates/test-knot.ts';
import { canBringPrograms, whyNoPrograms } from '../../drivers/certificates/test-programs.ts';
import { openDomainProofs } from '../../drivers/domain-proofs/domain-proofs.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { dnsStateOf } from './domain-records.ts';

let home: TestPlatform;
let knot: TestKnot | undefined;
beforeAll(async () => {
  if (!canBringPrograms) return;
  knot = await openTestKnot();
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_DOMAIN_VERIFICATION: 'required', OFFSHOOT_DOMAIN: `apps.${testZone}` });
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

  test('tells of each domain whether its record leads here, what to set, and where it leads instead', async () => {
    const ada = await home.person();
    const { projectId } = await sampleProject(ada);
    const names = ['alias', 'elsewhere', 'empty', ''].map((label) => [label, fixedZone].filter(Boolean).join('.'));
    await home.platform.db.insertInto('domain_claims').values({ project_id: projectId, name: fixedZone }).execute();
    await home.platform.db
      .insertInto('domains')
      .values(names.map((name) => ({ name, project_id: projectId, registered_name: fixedZone })))
      .execute();
    const listed = await ada.send('GET', `/projects/${projectId}/domains`);
    const stateOf = async (name: string) => {
      const { _links } = listed.json.find((domain: { name: string }) => domain.name === name);
      return (await ada.send('GET', _links.dns.href)).json;
    };
    const { edge_hostname: host } = (await ada.send('GET', `/projects/${projectId}/environments/main`)).json;
    // Every name of the platform's own zone leads to this machine, and so does what is an alias of one.
    expect(await stateOf(`alias.${fixedZone}`)).toEqual({
      is_set: true,
      says: 'It leads here.',
      records: [{ type: 'CNAME', name: `alias.${fixedZone}`, value: host }],
      found: { aliases: [`here.${testZone}`], addresses: ['127.0.0.1'] },
      checked_at: expect.any(String),
    });
    expect(await stateOf(`elsewhere.${fixedZone}`)).toMatchObject({
      is_set: false,
      says: 'It leads to 192.0.2.7, which is not this platform.',
    });
    expect(await stateOf(`empty.${fixedZone}`)).toMatchObject({ is_set: false, says: 'There is no record yet.' });
    // A registered name cannot be an alias.
    expect(await stateOf(fixedZone)).toMatchObject({ is_set: false, records: [{ type: 'A', name: fixedZone, value: '127.0.0.1' }] });
  });

  test('that does not answer is told as just that', async () => {
    const unreachable = openDomainProofs({ allowPrivateAddresses: ['127.0.0.0/8'], nameServers: ['127.0.0.1:9'] });
    const asked = { name: `silent.${fixedZone}`, registered_name: fixedZone, target: `here.${testZone}` };
    expect(await dnsStateOf({ domainProofs: unreachable }, asked)).toMatchObject({
      is_set: null,
      says: expect.stringContaining('do not answer'),
    });
  });
});
