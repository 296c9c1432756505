/** `./offshoot cli-config`: a file that whoever uses the platform, on this machine or another, can be given. */
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { readConfig } from '../server/config.ts';
import { openSecrets } from '../server/kernel/secrets.ts';
import { sshHostKeyLine } from '../server/rooms/ssh/public.ts';
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
    console.log(`${file} points the released client at ${config.url}. To use it:

  export CLI_CONFIG_FILE=${quoted(file)}
  upsun login

Where there is no browser, this takes the place of the second line:
  export UPSUN_CLI_TOKEN=$(./offshoot token create <e-mail>)`);
  });
};

/** Quoted for a shell, where necessary. */
const quoted = (text: string) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
