/**
 * What became of mail, as its owner reads it: a line in the log `mail` of the app that sent it. No message is sent back. Whom the mail server takes a message for,
 * it answers for itself, with bounces to the sender of the envelope; what it refuses at once, and what is given up, is here.
 *
 * Lines wait in the database, because any process may send, and one alone, which has the machine, writes logs.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { appendLog } from '../../drivers/logs/append-log.ts';
import { logFile, logsOf } from '../../drivers/logs/log-folders.ts';
import type { Relayed } from '../../drivers/mail/relayed-mail.ts';
import { ulid } from '../../kernel/id.ts';
import { nudge, type Reconciler } from '../../kernel/reconciler.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { logsFolder } from '../../machine.ts';
import type { Platform } from '../../platform.ts';
import { openedEnvelope, openedNote, sealedNote } from './sealed-mail.ts';

interface Whose {
  id: string;
  project_id: string;
  machine_name: string;
  app: string;
}

/** Of what belongs to no app, such as a task. */
const nobodysLog = '@relay';
const atOnceMax = 500;

export const tellOwners: Reconciler = {
  name: 'tell owners of mail',
  everySeconds: 30,
  usesMachine: true,
  run: async (platform, signal) => {
    while (!signal.aborted && (await tellSome(platform)) === atOnceMax);
    await noteGivenUp(platform);
    await platform.db
      .deleteFrom('app_mail_hours')
      .where('hour', '<', new Date(Date.now() - forgetMilliseconds).toISOString())
      .execute();
  },
};

/** A day counts, and the hour in which it began. */
const forgetMilliseconds = 48 * 60 * 60 * 1000;

const listed = (addresses: readonly string[]) => addresses.map((address) => `<${address}>`).join(', ');

export async function noteOutcome(
  tx: Tx,
  secrets: Secrets,
  row: Whose,
  from: string,
  { accepted, deferred, refused }: Relayed,
): Promise<void> {
  const lines = [
    ...(accepted.length > 0 ? [`sent to ${listed(accepted)}`] : []),
    ...deferred.map(({ address, reply }) => `put off for <${address}>, and tried again for a day: ${reply}`),
    ...refused.map(({ address, reply }) => `refused for <${address}>: ${reply}`),
  ];
  await note(tx, secrets, row, from, lines);
}

async function note(tx: Tx, secrets: Secrets, { id: mail, project_id, machine_name, app }: Whose, from: string, lines: readonly string[]) {
  if (lines.length === 0) return;
  const id = ulid();
  const at = new Date().toISOString();
  const text = lines.map((line) => `[${at}] ${mail} from <${from}> ${oneLine(line)}\n`).join('');
  await tx
    .insertInto('app_mail_notes')
    .values({ id, project_id, machine_name, app, text_sealed: sealedNote(secrets, id, text) })
    .execute();
  await nudge(tx, tellOwners);
}

/** Servers answer what they like. */
const lineCharactersMax = 2000;
const oneLine = (line: string) => line.replaceAll(/\p{Cc}+/gu, ' ').slice(0, lineCharactersMax);

async function noteGivenUp({ db, secrets }: Platform): Promise<void> {
  const rows = await db.selectFrom('app_mails').selectAll().where('is_given_up', '=', true).orderBy('id').limit(atOnceMax).execute();
  for (const row of rows)
    await db.transaction().execute(async (tx) => {
      const { from, to } = openedEnvelope(secrets, row.id, row.envelope_sealed);
      await note(tx, secrets, row, from, [`given up for ${listed(to)}: the mail server did not take it for a day`]);
      await tx.deleteFrom('app_mails').where('id', '=', row.id).execute();
    });
}

/** Written first and forgotten then: a kill in between repeats lines, and loses none. */
async function tellSome({ db, secrets, config }: Platform): Promise<number> {
  const notes = await notesToTell(db);
  for (const { id, project_id, machine_name, app, text_sealed } of notes) {
    await addLine(logsOf(logsFolder(config), `${project_id}-${machine_name}`), app, openedNote(secrets, id, text_sealed));
    await db.deleteFrom('app_mail_notes').where('id', '=', id).execute();
  }
  return notes.length;
}

const notesToTell = (db: Db) => db.selectFrom('app_mail_notes').selectAll().orderBy('id').limit(atOnceMax).execute();

/** Errors at which a line is given up: the disk is full, or the environment is gone. */
const bearable = new Set(['ENOSPC', 'EDQUOT', 'ENOENT']);

async function addLine(logs: string, app: string, text: string): Promise<void> {
  if (!existsSync(logs)) return;
  const hasLogs = app !== '' && existsSync(join(logs, app));
  try {
    if (!hasLogs) await mkdir(join(logs, nobodysLog), { recursive: true });
    await appendLog(logFile(logs, hasLogs ? app : nobodysLog, 'mail'), text);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && bearable.has(String(error.code)))) throw error;
  }
}
