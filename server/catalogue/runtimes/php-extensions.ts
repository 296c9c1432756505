/**
 * Extensions of PHP: those that are built in, those that are loaded unless an app disables them, and those that are loaded when an app asks. Each has a
 * folder with the setting that loads it, and PHP is told the folders to look in: a variable decides what an app has, in builds, at run time and in hooks.
 */
import type { DebianPackages, Files } from '../../drivers/images/recipe.ts';
import type { ChosenExtensions } from '../runtime.ts';

/** Extensions that are compiled into PHP, and always there. */
const builtIn = 'date filter hash json libxml openssl pcntl pcre random session sodium spl standard zlib'.split(' ');

/** The usual extensions by package; each comes after those that it needs. */
const usual = {
  common:
    'pdo calendar ctype exif ffi fileinfo ftp gettext iconv phar posix shmop sockets sysvmsg sysvsem sysvshm tokenizer readline'.split(' '),
  bcmath: ['bcmath'],
  curl: ['curl'],
  gd: ['gd'],
  intl: ['intl'],
  mbstring: ['mbstring'],
  mysql: ['mysqlnd', 'mysqli', 'pdo_mysql'],
  opcache: ['opcache'],
  pgsql: ['pgsql', 'pdo_pgsql'],
  redis: ['igbinary', 'redis'],
  sqlite3: ['sqlite3', 'pdo_sqlite'],
  xml: ['xml', 'dom', 'simplexml', 'xmlreader', 'xmlwriter', 'xsl'],
  zip: ['zip'],
  soap: ['soap'],
  apcu: ['apcu'],
};

/** Other extensions, each in a package of its name. */
const allOthers = 'amqp bz2 gmp imagick imap ldap mailparse msgpack memcached mongodb ssh2 tidy uuid xdebug yaml'.split(' ');

/** PHP has given up an extension now and then. */
const missing: Readonly<Record<string, readonly string[]>> = { '8.4': ['imap'] };

const othersOf = (version: string) => allOthers.filter((name) => !missing[version]?.includes(name));

/** For some extensions, those that must be loaded before them. */
const needs: Readonly<Record<string, readonly string[]>> = {
  mailparse: ['mbstring'],
  memcached: ['igbinary', 'msgpack'],
  redis: ['igbinary'],
  mysqli: ['mysqlnd'],
  pdo_mysql: ['pdo', 'mysqlnd'],
  pdo_pgsql: ['pdo'],
  pdo_sqlite: ['pdo'],
  dom: ['xml'],
  xmlreader: ['dom'],
  xsl: ['dom'],
};

const usualNames: readonly string[] = Object.values(usual).flat();
/** All extensions that can be loaded, in the order in which PHP loads them. */
const loadable = [...usualNames, ...allOthers];

export const phpExtensions = (version: string) => ({ builtIn, usual: usualNames, others: othersOf(version) });

const folder = '/usr/local/share/php-extensions';
const zendExtensions = new Set(['opcache', 'xdebug']);

const packagesFor = (version: string, names: readonly string[]) => names.map((name) => `php${version}-${name}`);

export const usualPackages = (version: string) =>
  packagesFor(
    version,
    Object.keys(usual).filter((name) => name !== 'common'),
  );

/** The layers on top of PHP with its usual extensions. */
export function phpLayers(version: string): (DebianPackages | Files)[] {
  const others = othersOf(version);
  const [first = '', ...more] = packagesFor(version, others);
  const files = [...usualNames, ...others].map((name) => [
    `${folder}/${name}/${name}.ini`,
    `${zendExtensions.has(name) ? 'zend_' : ''}extension=${name}.so\n`,
  ]);
  return [
    { kind: 'debian-packages', packages: [first, ...more] },
    { kind: 'files', files: Object.fromEntries(files) },
  ];
}

/** The value of PHP_INI_SCAN_DIR. An extension that another one needs stays, even if it is disabled. */
export function phpScanPath({ extensions, disabled_extensions }: ChosenExtensions): string {
  const chosen = [...usualNames.filter((name) => !disabled_extensions.includes(name)), ...extensions.map(({ name }) => name)];
  const wanted = new Set<string>();
  for (const name of chosen) addWithNeeds(wanted, name);
  return loadable
    .filter((name) => wanted.has(name))
    .map((name) => `${folder}/${name}`)
    .join(':');
}

function addWithNeeds(wanted: Set<string>, name: string) {
  wanted.add(name);
  for (const needed of needs[name] ?? []) addWithNeeds(wanted, needed);
}
