/** Repositories without a configuration. */
import { expect, test } from 'vitest';
import { catalogue } from '../../../catalogue/catalogue.ts';
import { isConfigured } from './families.ts';
import { imagesOf } from './images.ts';
import { proposeConfiguration } from './propose-configuration.ts';
import { readConfiguration } from './read-configuration.ts';
import { type Files, modelOf, options, said, treeOf } from './test-trees.ts';
import { newestWithin } from './version-range.ts';

const json = (value: unknown) => JSON.stringify(value);

test.for<[string, Files, object]>([
  [
    'a start script',
    { 'package.json': json({ scripts: { start: 'x', build: 'y' }, engines: { node: '>=20 <25' } }) },
    { type: 'nodejs:24', start: 'npm start', build: 'set -e\nnpm run build\n' },
  ],
  [
    'a main file',
    { 'package.json': json({ main: 'lib/main.js', engines: { node: '^18 || ^22' } }), 'lib/main.js': '' },
    { type: 'nodejs:22', start: 'node lib/main.js', build: null },
  ],
  [
    'an engine there is not',
    { 'package.json': json({ engines: { node: '8' } }), 'server.js': '' },
    { type: 'nodejs:26', start: 'node server.js' },
  ],
  [
    'pages that are built',
    { 'package.json': json({ scripts: { build: 'vite build' } }), 'index.html': '', 'yarn.lock': '' },
    { type: 'nodejs:26', start: null, build: 'set -e\nyarn install --frozen-lockfile\nyarn run build\n', root: 'dist' },
  ],
  [
    'a Django project',
    {
      'manage.py': `os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")`,
      'requirements.txt': 'django\ngunicorn==22',
      'package.json': json({ scripts: { start: 'x' } }),
    },
    { type: 'python:3.11', start: '.venv/bin/gunicorn --bind 0.0.0.0:$PORT shop.wsgi' },
  ],
  [
    'a Flask application',
    { 'app.py': 'api = Flask(__name__)', 'requirements.txt': 'flask' },
    { type: 'python:3.11', start: '.venv/bin/flask --app app run --host 0.0.0.0 --port $PORT' },
  ],
  [
    'a Python file',
    { 'main.py': 'print()', 'pyproject.toml': '' },
    { type: 'python:3.11', start: '.venv/bin/python main.py', build: 'set -e\npython3 -m venv .venv\n.venv/bin/pip install .\n' },
  ],
  [
    'a PHP framework',
    { 'composer.json': '{}', 'public/index.php': '', 'package.json': json({ scripts: { start: 'x' } }) },
    { type: 'php:8.2', start: null, root: 'public' },
  ],
  ['a PHP file', { 'index.php': '' }, { type: 'php:8.2', start: null, root: '' }],
  [
    'a Go module',
    { 'go.mod': 'module x', 'cmd/server/main.go': '' },
    { type: 'golang:1.23', start: './bin/app', build: 'set -e\ngo build -o bin/app ./cmd/server\n' },
  ],
  ['a Rack application', { 'config.ru': '', Gemfile: '' }, { type: 'ruby:3.1', start: 'bundle exec rackup -o 0.0.0.0 -p $PORT' }],
  ['pages', { 'public/index.html': '' }, { type: 'static:1', start: null, root: 'public' }],
  ['pages in the root', { 'index.html': '' }, { type: 'static:1', start: null, root: '' }],
])('%s', async ([, files, expected]) => {
  const tree = treeOf(files);
  expect(await isConfigured(tree)).toBe(false);
  const proposal = await proposeConfiguration(tree, options);
  const app = proposal?.model.applications['app'];
  expect({ type: app?.type, start: app?.web.commands.start, build: app?.hooks.build, root: app?.web.locations['/']?.root }).toMatchObject(
    expected,
  );
  // The text that people keep says the same.
  expect(await modelOf({ ...files, [proposal?.file ?? '']: proposal?.yaml ?? '' })).toEqual(proposal?.model);
});

test.for([{ 'package.json': '{' }, { 'package.json': '[]' }, { 'README.md': '' }, {}])('nothing is proposed for %j', async (files) => {
  expect(await proposeConfiguration(treeOf(files), options)).toBeUndefined();
});

test('the text is what one would write', async () => {
  const proposal = await proposeConfiguration(treeOf({ 'package.json': json({ scripts: { start: 'node .' } }) }), {
    ...options,
    images: imagesOf(catalogue),
  });
  expect(proposal).toMatchObject({ recognised: 'Node.js', because: 'package.json' });
  expect(proposal?.yaml).toMatch(
    /^applications:\n  app:\n    type: nodejs:\d+\n    web:\n      commands:\n        start: npm start\n      locations:\n        \/:\n          passthru: true\n$/,
  );
});

test('a deprecated version is offered to those who name it, and proposed to nobody', async () => {
  const images = options.images.map((image) => (image.type === 'nodejs:26' ? { ...image, isDeprecated: true as const } : image));
  const files = { 'package.json': json({ scripts: { start: 'node .' } }) };
  const proposal = await proposeConfiguration(treeOf(files), { ...options, images });
  expect(proposal?.model.applications['app']?.type).toBe('nodejs:24');
  const { errors, warnings } = await readConfiguration(treeOf({ '.upsun/config.yaml': 'applications: {app: {type: "nodejs:26"}}' }), {
    ...options,
    images,
  });
  expect(errors).toBeUndefined();
  expect(said(warnings)).toEqual([
    '1:28 applications.app.type: nodejs:26 is deprecated: it works, and will be retired. The next is "type: nodejs:24".',
  ]);
});

test.for([
  ['>=18', '26'],
  ['22.x', '22'],
  ['~24.1.0', '24'],
  ['20 - 24', '24'],
  ['<26', '24'],
  ['>= 22 < 24', '22'],
  ['>22', '26'],
  ['lts', undefined],
  ['4', undefined],
] as const)('the range %s is met by %s', ([range, version]) => {
  expect(newestWithin(range, ['26', '24', '22'])).toBe(version);
});
