import { expect, test } from 'vitest';
import { bodyOf, fieldsOf, untouched } from './form-fields.ts';

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
