/** What a repository is written in, by its files: strong signs first, because many have a package.json beside what they are. */
import type { SourceTree } from './source-tree.ts';
import { newestWithin } from './version-range.ts';

export interface Clues {
  tree: SourceTree;
  /** The names of files and folders in the root. */
  names: ReadonlySet<string>;
  /** The versions that there are images for, newest first. */
  versions: readonly string[];
}

/** Keys of an application beside its type. */
export interface Recognised {
  because: string;
  version?: string;
  build?: { flavor: string };
  hooks?: { build: string };
  web: { commands?: { start: string }; locations: Record<string, object> };
}

interface Recogniser {
  /** The name of the type. */
  name: string;
  label: string;
  recognise(clues: Clues): Promise<Recognised | undefined>;
}

const readBytesMax = 256 * 1024;
const passOn = { '/': { passthru: true } };
/** A rule that keeps files in the root that are no pages from being served. */
const hidden = { '(^|/)([.](?!well-known/)|composer[.]|package(-lock)?[.]json|Makefile$|Dockerfile$)': { allow: false } };

async function textOf({ tree, names }: Clues, path: string): Promise<string> {
  const bytes = names.has(path.split('/', 1)[0] ?? '') ? await tree.read(path) : undefined;
  return bytes && bytes.length <= readBytesMax ? bytes.toString('utf8') : '';
}

const isFile = async ({ tree, names }: Clues, path: string) =>
  names.has(path.split('/', 1)[0] ?? '') && (await tree.read(path)) !== undefined;

async function firstFile(clues: Clues, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) if (await isFile(clues, path)) return path;
  return undefined;
}

const steps = (...lines: string[]) => ['set -e', ...lines].map((line) => `${line}\n`).join('');

const packages = (clues: Clues) => {
  if (clues.names.has('requirements.txt')) return '.venv/bin/pip install -r requirements.txt';
  return clues.names.has('pyproject.toml') ? '.venv/bin/pip install .' : undefined;
};

async function python(clues: Clues, because: string, start: string): Promise<Recognised> {
  const install = packages(clues);
  return {
    because,
    hooks: { build: steps('python3 -m venv .venv', ...(install ? [install] : [])) },
    web: { commands: { start: `.venv/bin/${start}` }, locations: passOn },
  };
}

const pythonNeeds = async (clues: Clues) => `${await textOf(clues, 'requirements.txt')}\n${await textOf(clues, 'pyproject.toml')}`;

async function django(clues: Clues): Promise<Recognised | undefined> {
  if (!(await isFile(clues, 'manage.py'))) return undefined;
  const settings = /DJANGO_SETTINGS_MODULE['"]\s*,\s*['"]([\w.]+)['"]/.exec(await textOf(clues, 'manage.py'))?.[1]?.split('.')[0];
  const served = settings !== undefined && /^\s*["']?gunicorn\b/im.test(await pythonNeeds(clues));
  return python(
    clues,
    'manage.py',
    served ? `gunicorn --bind 0.0.0.0:$PORT ${settings}.wsgi` : 'python manage.py runserver --noreload 0.0.0.0:$PORT',
  );
}

async function pythonApp(clues: Clues): Promise<Recognised | undefined> {
  const main = await firstFile(clues, ['app.py', 'main.py', 'wsgi.py', 'server.py']);
  if (main === undefined) return undefined;
  const code = await textOf(clues, main);
  const needs = await pythonNeeds(clues);
  const module = main.slice(0, -'.py'.length);
  const name = /^(\w+)\s*=\s*(?:FastAPI|Flask|Starlette)\(/m.exec(code)?.[1] ?? 'app';
  const has = (tool: string) => new RegExp(`^\\s*["']?${tool}\\b`, 'im').test(needs);
  if (/\b(?:FastAPI|Starlette)\(/.test(code) && has('(?:uvicorn|fastapi\\[)'))
    return python(clues, main, `uvicorn ${module}:${name} --host 0.0.0.0 --port $PORT`);
  if (/\bFlask\(/.test(code)) {
    return python(
      clues,
      main,
      has('gunicorn') ? `gunicorn --bind 0.0.0.0:$PORT ${module}:${name}` : `flask --app ${module} run --host 0.0.0.0 --port $PORT`,
    );
  }
  return python(clues, main, `python ${main}`);
}

async function php(clues: Clues, because: string): Promise<Recognised | undefined> {
  if (!(await isFile(clues, because))) return undefined;
  const front = await firstFile(clues, ['public/index.php', 'web/index.php', 'index.php']);
  if (front === undefined) return undefined;
  const root = front.slice(0, -'/index.php'.length);
  const location = { root, index: ['index.php', 'index.html'], passthru: '/index.php', scripts: true };
  return { because, web: { locations: { '/': root === '' ? { ...location, rules: hidden } : location } } };
}

async function ruby(clues: Clues, because: string): Promise<Recognised | undefined> {
  if (!(await isFile(clues, because))) return undefined;
  const gems = await isFile(clues, 'Gemfile');
  const rails = await isFile(clues, 'bin/rails');
  const main = await firstFile(clues, ['config.ru', 'app.rb', 'main.rb', 'server.rb']);
  if (!rails && main === undefined) return undefined;
  const listen = rails ? 'rails server -b 0.0.0.0 -p $PORT' : main === 'config.ru' ? 'rackup -o 0.0.0.0 -p $PORT' : `ruby ${main}`;
  const [install, start] = gems
    ? [steps('bundle config set --local path vendor/bundle', 'bundle install'), `bundle exec ${listen}`]
    : [steps('GEM_HOME=vendor/gems gem install --no-document rackup puma'), `GEM_HOME=vendor/gems exec vendor/gems/bin/${listen}`];
  return { because, hooks: { build: install }, web: { commands: { start }, locations: passOn } };
}

async function golang(clues: Clues): Promise<Recognised | undefined> {
  if (!(await isFile(clues, 'go.mod'))) return undefined;
  const roots = await clues.tree.list('');
  const command = (await clues.tree.list('cmd')).find(({ kind }) => kind === 'folder');
  const isAtRoot = roots.some(({ path, kind }) => kind === 'file' && path.endsWith('.go'));
  const main = isAtRoot ? '.' : command && `./${command.path}`;
  return main === undefined
    ? undefined
    : {
        because: 'go.mod',
        hooks: { build: steps(`go build -o bin/app ${main}`) },
        web: { commands: { start: './bin/app' }, locations: passOn },
      };
}

interface Package {
  scripts: Record<string, unknown>;
  main: string | undefined;
  engine: string | undefined;
}

async function packageOf(clues: Clues): Promise<Package | undefined> {
  let found: unknown;
  try {
    found = JSON.parse(await textOf(clues, 'package.json'));
  } catch {
    return undefined;
  }
  const at = (value: unknown, key: string): unknown =>
    typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
  const scripts = at(found, 'scripts');
  return {
    scripts: typeof scripts === 'object' && scripts !== null ? { ...scripts } : {},
    main: text(at(found, 'main')),
    engine: text(at(at(found, 'engines'), 'node')),
  };
}

/** Installs and builds with the tool whose lock file there is. */
function nodeBuild({ names }: Clues, { scripts }: Package): Pick<Recognised, 'build' | 'hooks'> {
  const tool = names.has('yarn.lock') ? 'yarn' : names.has('pnpm-lock.yaml') ? 'pnpm' : 'npm';
  const install = tool === 'npm' ? [] : [`${tool} install --frozen-lockfile`];
  const lines = [...install, ...(typeof scripts['build'] === 'string' ? [`${tool} run build`] : [])];
  return { ...(tool !== 'npm' && { build: { flavor: 'none' } }), ...(lines.length > 0 && { hooks: { build: steps(...lines) } }) };
}

const safeFile = /^(?:[\w][\w.-]*\/)*[\w][\w.-]*\.[cm]?[jt]s$/;

async function node(clues: Clues): Promise<Recognised | undefined> {
  const own = await packageOf(clues);
  if (!own) return undefined;
  const version = newestWithin(own.engine, clues.versions);
  const main = await firstFile(clues, [...(own.main && safeFile.test(own.main) ? [own.main] : []), 'server.js', 'index.js', 'app.js']);
  const start = typeof own.scripts['start'] === 'string' ? 'npm start' : main && `node ${main}`;
  if (start === undefined) return undefined;
  return {
    because: 'package.json',
    ...(version && { version }),
    ...nodeBuild(clues, own),
    web: { commands: { start }, locations: passOn },
  };
}

/** Pages that Node.js only builds. */
async function nodeSite(clues: Clues): Promise<Recognised | undefined> {
  const own = await packageOf(clues);
  if (typeof own?.scripts['build'] !== 'string') return undefined;
  const version = newestWithin(own.engine, clues.versions);
  const root = (await textOf(clues, 'package.json')).includes('"react-scripts"') ? 'build' : 'dist';
  const location = { root, index: ['index.html'], passthru: '/index.html' };
  return { because: 'package.json', ...(version && { version }), ...nodeBuild(clues, own), web: { locations: { '/': location } } };
}

async function site(clues: Clues): Promise<Recognised | undefined> {
  const page = await firstFile(clues, ['index.html', 'public/index.html', 'dist/index.html']);
  if (page === undefined) return undefined;
  const root = page.slice(0, -'/index.html'.length);
  return { because: page, web: { locations: { '/': { root, index: ['index.html'], ...(root === '' && { rules: hidden }) } } } };
}

export const recognisers: readonly Recogniser[] = [
  { name: 'python', label: 'Python', recognise: django },
  { name: 'ruby', label: 'Ruby', recognise: (clues) => ruby(clues, 'config.ru') },
  { name: 'php', label: 'PHP', recognise: (clues) => php(clues, 'composer.json') },
  { name: 'golang', label: 'Go', recognise: golang },
  { name: 'nodejs', label: 'Node.js', recognise: node },
  { name: 'python', label: 'Python', recognise: pythonApp },
  { name: 'ruby', label: 'Ruby', recognise: (clues) => ruby(clues, 'Gemfile') },
  { name: 'php', label: 'PHP', recognise: async (clues) => (await php(clues, 'index.php')) ?? php(clues, 'public/index.php') },
  { name: 'nodejs', label: 'Node.js', recognise: nodeSite },
  { name: 'static', label: 'a static site', recognise: site },
];
