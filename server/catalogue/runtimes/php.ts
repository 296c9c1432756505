/** Without a command to start, PHP answers by its own FastCGI process manager. */
import { appTools, sshTools } from '../app-layers.ts';
import { bookworm, packages } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';
import { phpExtensions, phpLayers, phpScanPath, usualPackages } from './php-extensions.ts';

/** The folder for settings that are written when a container starts, beside those of the image. */
const settingsFolder = '/run';

const version = (number: string) =>
  bookworm.version(
    number,
    appTools,
    packages(`php${number}-fpm`, `php${number}-cli`, 'composer', ...usualPackages(number)),
    ...phpLayers(number),
    ...sshTools,
  );

export const php: RuntimeEntry = {
  versions: [version('8.2')],
  profile: 'HIGH_CPU',
  runtime: {
    flavor: {
      name: 'composer',
      file: 'composer.json',
      script: 'composer --no-ansi --no-interaction install --no-progress --prefer-dist --optimize-autoloader',
    },
    fastcgi: { program: (number) => `php-fpm${number}`, script: '/index.php' },
    extensions: { ...phpExtensions, env: (chosen) => ({ PHP_INI_SCAN_DIR: `${phpScanPath(chosen)}:${settingsFolder}` }) },
    settings: { path: `${settingsFolder}/php.ini`, prefix: 'php:' },
  },
};
