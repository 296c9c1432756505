import { expect, test } from 'vitest';
import { bodyOf, fieldsOf, refusalsBy, untouched } from './form-fields.ts';

const branch = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 250, description: 'The name of the branch.' },
    clone_parent: { type: 'boolean' },
    type: { type: 'string', enum: ['development', 'staging'] },
    attributes: { type: 'object' },
    resources: { type: ['object', 'null'], properties: { init: { type: ['string', 'null'], enum: ['default', 'parent', null] } } },
  },
} as const;

test('a form has the fields that the link describes, also inside objects, and leaves out what cannot be typed', () => {
  expect(fieldsOf(branch).map(({ path, kind, isRequired, choices }) => ({ path, kind, isRequired, choices }))).toEqual([
    { path: 'name', kind: 'text', isRequired: true, choices: [] },
    { path: 'clone_parent', kind: 'box', isRequired: false, choices: [] },
    { path: 'type', kind: 'choice', isRequired: false, choices: ['development', 'staging'] },
    { path: 'resources.init', kind: 'choice', isRequired: false, choices: ['default', 'parent'] },
  ]);
});

test('what is sent is what was filled in; a box is sent as it is shown', () => {
  const form = new FormData();
  form.set('name', 'feature');
  form.set('type', '');
  form.set('resources.init', 'parent');
  expect(bodyOf(fieldsOf(branch), form)).toEqual({ name: 'feature', clone_parent: false, resources: { init: 'parent' } });
});

const variable = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 256 },
    value: { type: 'string', maxLength: 65_536 },
    is_sensitive: { type: 'boolean' },
    application_scope: { type: 'array', items: { type: 'string' } },
    disk: { type: 'integer' },
  },
} as const;

test('a form for what is there already begins with it, and sends what was changed and nothing else, also what was emptied', () => {
  const fields = fieldsOf(variable, { name: 'env:MODE', value: 'shop', is_sensitive: false, application_scope: ['app'] });
  expect(fields.map(({ path, kind, initial }) => [path, kind, initial])).toEqual([
    ['name', 'text', 'env:MODE'],
    ['value', 'long text', 'shop'],
    ['is_sensitive', 'box', false],
    ['application_scope', 'lines', 'app'],
    ['disk', 'number', ''],
  ]);
  expect(untouched(fields, true)).toEqual({});
  const form = new FormData();
  form.set('name', 'env:MODE');
  form.set('value', '');
  form.set('is_sensitive', 'on');
  form.set('application_scope', 'app\r\n\r\nworker');
  form.set('disk', '512');
  expect(bodyOf(fields, form, true)).toEqual({ value: '', is_sensitive: true, application_scope: ['app', 'worker'], disk: 512 });
});

const integration = {
  type: 'object',
  required: ['url', 'token'],
  properties: {
    url: { type: 'string', maxLength: 2000 },
    token: { type: 'string', maxLength: 8192, format: 'password' },
    shared_key: { type: ['string', 'null'], format: 'password', 'x-usual': null },
    states: { type: 'array', items: { type: 'string', enum: ['pending', 'complete'] }, 'x-usual': ['complete'] },
    headers: { type: 'object', additionalProperties: { type: 'string' }, 'x-usual': {} },
    app: {
      type: ['object', 'null'],
      required: ['id', 'private_key'],
      properties: {
        id: { type: 'string' },
        private_key: { type: 'string', format: 'password', contentMediaType: 'application/x-pem-file' },
      },
    },
  },
} as const;

test('secrets, lists of choices, names with values, and what is usual are read from the schema', () => {
  const fields = fieldsOf(integration);
  expect(fields.map(({ path, kind, label, isRequired, initial }) => [path, kind, label, isRequired, initial])).toEqual([
    ['url', 'text', 'Url', true, ''],
    ['token', 'secret', 'Token', true, ''],
    ['shared_key', 'secret', 'Shared key', false, ''],
    ['states', 'several', 'States', false, 'complete'],
    ['headers', 'pairs', 'Headers', false, ''],
    ['app.id', 'text', 'App: id', false, ''],
    ['app.private_key', 'long secret', 'App: private key', false, ''],
  ]);
  const form = new FormData();
  form.set('url', 'https://hooks.example.org');
  for (const state of ['pending', 'complete']) form.append('states', state);
  form.set('headers', 'X-Team: shop\nAuthorization: Bearer a:b');
  expect(bodyOf(fields, form)).toEqual({
    url: 'https://hooks.example.org',
    states: ['pending', 'complete'],
    headers: { 'X-Team': 'shop', Authorization: 'Bearer a:b' },
  });
});

test('a change leaves secrets alone that nobody typed, takes away what may be absent, and sends an object with all its parts', () => {
  const fields = fieldsOf(integration, { url: 'https://hooks.example.org', shared_key: 'shared', states: ['complete'], app: { id: '1' } });
  expect(untouched(fields, true)).toEqual({});
  const form = new FormData();
  form.set('url', 'https://hooks.example.org');
  form.set('token', '');
  form.set('shared_key', '');
  form.append('states', 'complete');
  form.set('app.id', '1');
  form.set('app.private_key', 'PEM');
  expect(bodyOf(fields, form, true)).toEqual({ shared_key: null, app: { id: '1', private_key: 'PEM' } });
});

test('what is refused of a part or of the whole is said beside the field that has it', () => {
  const fields = fieldsOf(integration);
  const { byPath, isAllShown } = refusalsBy(fields, { 'states.0': 'must be one of pending, complete', app: 'is given twice' });
  expect([...byPath]).toEqual([
    ['states', 'must be one of pending, complete'],
    ['app.id', 'is given twice'],
  ]);
  expect(isAllShown).toBe(true);
  expect(refusalsBy(fields, { type: 'is required' }).isAllShown).toBe(false);
});

test('a number that is taken away is sent as none, not as nought', () => {
  const limits = { properties: { projects: { type: ['integer', 'null'] }, cpu: { type: ['number', 'null'] } } } as const;
  const form = new FormData();
  form.set('projects', '');
  form.set('cpu', '0');
  expect(bodyOf(fieldsOf(limits, { projects: 5, cpu: 2 }), form, true)).toEqual({ projects: null, cpu: 0 });
});
