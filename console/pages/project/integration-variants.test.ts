import { expect, test } from 'vitest';
import { fieldsOf } from '../../actions/form-fields.ts';
import { changeOf, newOf, subjectOf, variantsIn } from './integration-variants.ts';

const variants = variantsIn({
  oneOf: [
    {
      title: 'gitea',
      description: 'Branches of a Gitea become environments.',
      required: ['type', 'token', 'repository'],
      properties: {
        type: { type: 'string', enum: ['gitea'] },
        token: { type: 'string', format: 'password', description: 'An access token.' },
        repository: { type: 'string' },
      },
    },
    { title: 'blackfire', properties: { type: { type: 'string', enum: ['blackfire'] } } },
  ],
});

test('types are those that the link describes, and the fields of each are those of its body, without the type that was chosen', () => {
  expect(variants.map(({ type, purpose }) => [type, purpose])).toEqual([
    ['gitea', 'Branches of a Gitea become environments.'],
    ['blackfire', ''],
  ]);
  expect(variants.map((variant) => fieldsOf(newOf(variant)).map(({ path }) => path))).toEqual([['token', 'repository'], []]);
});

test('a change does not ask again for what is secret, and says that it stays', () => {
  const [gitea] = variants;
  const fields = gitea ? fieldsOf(changeOf(gitea, { repository: 'acme/shop' }), { repository: 'acme/shop' }) : [];
  expect(fields.map(({ path, isRequired, hint, initial }) => ({ path, isRequired, hint, initial }))).toEqual([
    { path: 'token', isRequired: false, hint: 'An access token. Left empty, it stays as it is.', initial: '' },
    { path: 'repository', isRequired: true, hint: undefined, initial: 'acme/shop' },
  ]);
});

test('an integration is told from others by what it is connected with', () => {
  expect(subjectOf({ type: 'gitea', repository: 'acme/shop', base_url: 'https://git.example.org' })).toBe('acme/shop');
  expect(subjectOf({ type: 'health.email', recipients: ['#admins', 'ada@example.org'] })).toBe('#admins, ada@example.org');
  expect(subjectOf({ type: 'script' })).toBe('');
});
