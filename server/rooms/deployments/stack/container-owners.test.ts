import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { deploySample } from '../../../testing/deployment.ts';
import { openTestPlatform } from '../../../testing/platform.ts';
import { sampleEnvironment } from '../../../testing/samples.ts';
import { openOwners } from './container-owners.ts';
import { dataVolume, instanceContainer, serviceContainer, setupContainer, storageVolume, taskContainer } from './names.ts';

test('containers and volumes are known by whose they are; what belongs to nobody is nobody’s', async () => {
  const home = await openTestPlatform();
  const address = await sampleEnvironment(await home.person());
  const { id, environment, model } = await deploySample(home.platform, address);
  const { db } = home.platform;
  await sql`insert into activities (id, project_id, type, queue, parameters)
    values ('abcdefghij234', ${address.projectId}, 'environment.task', 'default', '{"task": "A long Name of a Task"}')`.execute(db);
  const [[app], [service]] = [Object.values(model.applications), Object.values(model.services)];
  const task = taskContainer(id, 'abcdefghij234');
  const owners = await openOwners(db)([task]);
  const whose = { project: address.projectId, environment: environment.machine_name };
  const ofApp = { ...whose, service: app!.name };
  expect(owners.ofContainer(instanceContainer(id, app!.name, 7, 2))).toEqual({ ...ofApp, instance: `${app!.name}.2` });
  const ofService = { ...whose, service: service!.name, instance: `${service!.name}.0` };
  expect(owners.ofContainer(serviceContainer(id, service!.name))).toEqual(ofService);
  expect(owners.ofContainer(setupContainer(id, service!.name))).toEqual(ofService);
  expect(owners.ofVolume(dataVolume(id, service!.name, service!.type))).toEqual(ofService);
  expect(owners.ofContainer(task)).toMatchObject({ ...whose, service: 'A long Name of a Task' });
  for (const name of ['build-p-0a-1', instanceContainer('aaaaaaaaaaaaa', app!.name, 7, 2), instanceContainer(id, 'other', 1, 0)])
    expect(owners.ofContainer(name)).toBeUndefined();
  expect(owners.ofVolume(storageVolume('aaaaaaaaaaaaa', app!.name))).toBeUndefined();
});
