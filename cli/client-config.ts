/** `./offshoot cli-config`: files that whoever uses the platform, on this machine or another, can be given. */
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { getCACertificates } from 'node:tls';
import { stringify } from 'yaml';
import { readConfig, type Config } from '../server/config.ts';
import { trustedAuthorities } from '../server/drivers/authorities.ts';
import { openSecrets } from '../server/kernel/secrets.ts';
import { sshHostKeyLine } from '../server/rooms/ssh/public.ts';
import { authorityOf } from './authority.ts';
import { secretKeysOf } from './backup.ts';
import { clientConfiguration, clientFolder } from './client-configuration.ts';
import { withDatabase } from './database.ts';

export const writeClientConfiguration = ([given]: string[]) => {
  const config = readConfig(process.env);
  return withDatabase(config, async (db) => {
    const hostKey = await sshHostKeyLine({ db, secrets: openSecrets(secretKeysOf(config)) });
    const file = resolve(given ?? join(homedir(), clientFolder, 'offshoot.yaml'));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(
      file,
      `# Written by ./offshoot cli-config for ${config.url}\n${stringify(clientConfiguration(config, hostKey), { lineWidth: 0 })}`,
    );
    const authority = await authorityOf(db, config);
    const trusted = file.replace(/\.ya?ml$/, '') + '.pem';
    if (authority !== undefined) await writeFile(trusted, trustedWith(authority, config));
    console.log(`${file} points the released client at ${config.url}. To use it:

  export CLI_CONFIG_FILE=${quoted(file)}${authority === undefined ? '' : `\n  export SSL_CERT_FILE=${quoted(trusted)}`}
  upsun login

Where there is no browser, this takes the place of the last line:
  export UPSUN_CLI_TOKEN=$(./offshoot token create <e-mail>)`);
  });
};

/** The client, and whatever else looks at SSL_CERT_FILE, trusts what is in the file and nothing beside it, so the public authorities are in it too. */
const trustedWith = (authority: string, { caCertificates }: Config) =>
  [authority, ...trustedAuthorities(caCertificates), ...getCACertificates('bundled')].map((pem) => `${pem.trimEnd()}\n`).join('');

/** Quoted for a shell, where necessary. */
const quoted = (text: string) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
