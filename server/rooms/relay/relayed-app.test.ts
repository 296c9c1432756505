/** Apps in containers send mail, told by nothing but PLATFORM_SMTP_HOST; previews do not, and nobody else is let in. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../edge/testing/ports.ts';
import { openSmtp } from '../../drivers/mail/mail.ts';
import { openTestDeployments, type Content, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { deliverDue } from '../deliveries/work.ts';
import { relay } from './room.ts';
import { serveRelay } from './serve-relay.ts';
import { tellOwners } from './tell-owners.ts';
import { openSink } from './test-sink.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;

const files: Content = {
  '.upsun/config.yaml': `
applications:
  app:
    type: php:8.4
    build: { flavor: none }
    hooks: { deploy: 'php send.php "from the hook"' }
    web: { locations: { /: { root: web, passthru: /index.php } } }
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
  'web/index.php': '<?php',
  // Says its part line by line, as an SMTP client does, and prints the last answer.
  'send.php': String.raw`<?php
[, $subject, $host] = $argv + [2 => getenv('PLATFORM_SMTP_HOST')];
if (!$host) exit('no host');
$relay = fsockopen($host, 25);
$says = ['EHLO app', 'MAIL FROM:<app@example.org>', 'RCPT TO:<ada@example.org>', 'DATA', "Subject: $subject\r\n\r\nHello\r\n."];
foreach (['', ...$says] as $line) {
  if ($line !== '') fwrite($relay, "$line\r\n");
  do $reply = fgets($relay); while ($reply !== false && $reply[3] === '-');
  if ($reply === false || $reply[0] >= '4') break;
}
echo trim($reply);
`,
};

describe.runIf(canRunContainers)(`an app that sends mail${whyNoContainers}`, () => {
  let all: TestDeployments;
  const stop = new AbortController();
  let listening: Promise<void>;

  beforeAll(async () => {
    all = await openTestDeployments();
    const { platform } = all.home;
    platform.config.relay.port = await freePort();
    listening = serveRelay.listen(platform, stop.signal);
    await all.machine.images.ensure('php:8.4');
  }, imagesMillisecondsMax);
  afterAll(async () => {
    stop.abort();
    await listening;
    await all.close();
  });

  /** What is heard by somebody who connects to an address of the machine. */
  const heardAt = async (host: string) => {
    const socket = connect({ host, port: all.home.platform.config.relay.port });
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
    socket.on('error', () => {});
    await once(socket, 'close');
    return heard;
  };

  test('sends it from production, also from hooks; not from a preview, and nobody else is heard', { timeout }, async () => {
    const { platform } = all.home;
    const sink = await openSink();
    platform.mail = openSmtp(sink.url, 'platform@example.org');
    const project = await all.project();
    await project.push(files);
    expect(await project.inside('echo "$PLATFORM_SMTP_HOST"')).toBe('platform.offshoot.internal');
    expect(await project.inside('php send.php "from the app"')).toMatch(/^250 Taken as /);
    const call = 'mail("ada@example.org", "from mail()", "Hello", "From: app@example.org")';
    expect(await project.inside(`php -r 'var_dump(${call});'`)).toBe('bool(true)');
    await deliverDue(relay.deliveries ?? [], platform);
    const subjects = sink.arrived.map(({ from, message }) => [from, /^Subject: (.*)$/m.exec(message.toString())?.[1]]);
    expect(subjects).toEqual([
      ['app@example.org', 'from the hook'],
      ['app@example.org', 'from the app'],
      ['app@example.org', 'from mail()'],
    ]);
    await tellOwners.run(platform, stop.signal);
    const { machine_name } = await project.row();
    const log = await readFile(join(all.machine.logs, `${project.projectId}-${machine_name}`, 'app', 'mail.log'), 'utf8');
    expect(log.match(/sent to <ada@example.org>/g)).toHaveLength(3);

    await project.addEnvironment('preview');
    await project.push(files, { environment: 'preview' });
    expect(await project.inside('php send.php "from the preview"', 'preview')).toBe('no host');
    expect(await project.inside('php send.php "from the preview" platform.offshoot.internal', 'preview')).toMatch(
      /^550 Outgoing mail is off/,
    );
    // By the way of production, too, it is known as itself.
    const gateway = await project.inside("sed -n 's/ platform.offshoot.internal$//p' /etc/hosts");
    expect(await project.inside(`php send.php "from the preview" ${gateway}`, 'preview')).toMatch(/^550 Outgoing mail is off/);
    // Nobody outside hears a word, nor is the machine itself taken for an app.
    const outside = Object.values(networkInterfaces()).flatMap((links) => (links ?? []).filter(({ family }) => family === 'IPv4'));
    for (const host of new Set(['127.0.0.1', ...outside.map((link) => link.address)].filter((each) => !each.startsWith('100.'))))
      expect(await heardAt(host)).toBe('');
    expect(await heardAt(gateway)).toMatch(/^554 Mail is taken from environments/);
  });
});
