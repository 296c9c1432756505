/** Without a command to start, PHP answers by its own FastCGI process manager. */
import { appTools, sshTools } from '../app-layers.ts';
import { bookworm, packages, type Release, trixie } from '../debian.ts';
import { deprecated, type RuntimeEntry } from '../entry.ts';
import { phpExtensions, phpLayers, phpScanPath, usualPackages } from './php-extensions.ts';

/** The folder for settings that are written when a container starts, beside those of the image. */
const settingsFolder = '/run';

const version = (number: string, release: Release) =>
  release.version(
    number,
    appTools,
    packages(`php${number}-fpm`, `php${number}-cli`, 'composer', ...usualPackages(number)),
    ...phpLayers(number),
    ...sshTools,
  );

export const php: RuntimeEntry = {
  versions: [version('8.4', trixie), deprecated(version('8.2', bookworm))],
  retired: ['8.1', '8.0', '7.4', '7.3', '7.2', '7.1', '7.0', '5.6', '5.5', '5.4'],
  profile: 'HIGH_CPU',
  runtime: {
    flavor: {
      name: 'composer',
      file: 'composer.json',
      script: 'composer --no-ansi --no-interaction install --no-progress --prefer-dist --optimize-autoloader',
    },
    fastcgi: { program: (number) => `php-fpm${number}`, script: '/index.php' },
    extensions: (number) => ({
      ...phpExtensions(number),
      env: (chosen) => ({ PHP_INI_SCAN_DIR: `${phpScanPath(chosen)}:${settingsFolder}` }),
    }),
    settings: { path: `${settingsFolder}/php.ini`, prefix: 'php:' },
  },
};
