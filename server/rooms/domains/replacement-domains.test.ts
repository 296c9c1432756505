import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { projectOf, refusal } from './test-projects.ts';

let home: TestPlatform;
let ada: Person;
beforeAll(async () => {
  home = await openTestPlatform();
  ada = await home.person();
});

const newProject = () => projectOf(ada);

const names = (rows: { name: string }[]) => rows.map(({ name }) => name);

describe('beside production, a domain takes the place of one of production', () => {
  test('and each rule is answered as released clients read it', async () => {
    const project = await newProject();
    const preview = await project.branch();
    const add = (body: object, at = preview) => ada.send('POST', `${at}/domains`, body);
    expect(await add({ name: 'stage.rules.example' })).toMatchObject(refusal('replacement_for', 'is required'));
    expect(await add({ name: 'stage.rules.example', replacement_for: 'rules.example' })).toMatchObject({
      status: 409,
      json: {
        message: expect.stringContaining('has no corresponding domain set on the production environment'),
        detail: { 'prod-domains': [] },
      },
    });
    await project.add({ name: 'rules.example' });
    await project.add({ name: 'www.rules.example' });
    expect(await add({ name: 'stage.rules.example', replacement_for: 'other.example' })).toMatchObject({
      status: 409,
      json: { detail: { 'prod-domains': ['rules.example', 'www.rules.example'] } },
    });
    const added = await add({ name: 'stage.rules.example', replacement_for: 'RULES.example.' });
    expect(added).toMatchObject({
      status: 201,
      json: {
        _embedded: {
          entity: { type: 'replacement', replacement_for: 'rules.example', registered_name: 'rules.example' },
          activities: [{ type: 'environment.domain.create', environments: ['preview'] }],
        },
      },
    });
    expect(added.json._embedded.entity).not.toHaveProperty('is_default');
    expect(await add({ name: 'second.rules.example', replacement_for: 'rules.example' })).toMatchObject({
      status: 409,
      json: {
        message: expect.stringContaining('already has a domain with the same replacement_for'),
        detail: { conflicting_domain: 'stage.rules.example' },
      },
    });
    expect((await add({ name: 'second.rules.example', replacement_for: 'www.rules.example' })).status).toBe(201);
    expect(await add({ name: 'x.rules.example', replacement_for: 'rules.example' }, project.main)).toMatchObject(
      refusal('replacement_for', 'not production'),
    );
    expect(await project.add({ name: 'x.rules.example', replacement_for: 'rules.example' })).toMatchObject(
      refusal('replacement_for', 'not production'),
    );
    expect(await add({ name: 'x.rules.example', replacement_for: 'rules.example', is_default: true })).toMatchObject(
      refusal('is_default', 'production'),
    );
    const one = `${preview}/domains/stage.rules.example`;
    expect(await ada.send('PATCH', one, { is_default: true })).toMatchObject(refusal('is_default', 'deleted and added anew'));
    expect((await ada.send('PATCH', one, { attributes: { a: 'b' } })).json._embedded.entity.attributes).toEqual({ a: 'b' });
    expect(names((await ada.send('GET', `${preview}/domains`)).json)).toEqual(['stage.rules.example', 'second.rules.example']);
    expect(names((await ada.send('GET', `${project.at}/domains`)).json)).toEqual(['rules.example', 'www.rules.example']);
  });

  test('goes with it, and with its environment', async () => {
    const project = await newProject();
    const preview = await project.branch();
    await project.add({ name: 'goes.example' });
    await project.add({ name: 'www.goes.example' });
    await ada.send('POST', `${preview}/domains`, { name: 'stage.goes.example', replacement_for: 'goes.example' });
    await ada.send('POST', `${preview}/domains`, { name: 'stages.goes.example', replacement_for: 'www.goes.example' });
    await ada.send('DELETE', `${project.at}/domains/goes.example`);
    expect(names((await ada.send('GET', `${preview}/domains`)).json)).toEqual(['stages.goes.example']);
    await sql`delete from environments where project_id = ${project.projectId} and id = 'preview'`.execute(home.platform.db);
    expect((await project.add({ name: 'stages.goes.example' })).status).toBe(201);
  });

  test('five environments can have some; the sixth is told which', async () => {
    const project = await newProject();
    await project.add({ name: 'many.example' });
    const sites = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => project.branch(`preview-${n}`)));
    const add = (n: number) =>
      ada.send('POST', `${sites[n]}/domains`, { name: `stage-${n}.many.example`, replacement_for: 'many.example' });
    for (const n of [0, 1, 2, 3, 4]) expect((await add(n)).status).toBe(201);
    expect(await add(5)).toMatchObject({
      status: 402,
      json: {
        message: expect.stringContaining('5'),
        detail: {
          environments_with_domains_limit: 5,
          environments_with_domains: ['preview-1', 'preview-2', 'preview-3', 'preview-4', 'preview-5'],
        },
      },
    });
  });
});
