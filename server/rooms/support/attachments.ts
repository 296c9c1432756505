/** Files that come with a ticket or a comment, as base64 in the body of the request. What a body may be bounds each; a ticket has so much of them altogether. */
import { Type, type Static } from 'typebox';
import { Problem } from '../../kernel/problem.ts';
import { closed, Line } from '../../kernel/schema.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Config } from '../../config.ts';
import { keepFile, removeKept } from './attached-files.ts';
import { attachedBytes, insertAttachments } from './queries.ts';

const filesMax = 5;
/** In one request: base64 is a third longer, and a request is taken up to 1 MiB. */
const bytesAtOnceMax = 512 * 1024;
export const bytesOfTicketMax = 5 * 1024 * 1024;
const base64Pattern = '^[A-Za-z0-9+/]*={0,2}$';

export const Attachments = Type.Optional(
  Type.Array(
    closed({
      filename: Line(200, { charactersMin: 1 }),
      data: Type.String({
        pattern: base64Pattern,
        maxLength: Math.ceil(bytesAtOnceMax / 3) * 4,
        'x-message': 'must be base64',
        description: 'The content of the file, as base64.',
      }),
    }),
    { maxItems: filesMax, description: `Up to ${filesMax} files, ${bytesAtOnceMax / 1024} KiB together.` },
  ),
);

type Given = Static<typeof Attachments>;

export interface KeptFile {
  filename: string;
  size: number;
  file: string;
}

/** The files are kept before the transaction that names them begins, and removed if it is refused. After any other failure it may have committed unseen, so what no row names is left to tidyAttachments. */
export async function withAttachments<T>(
  config: Pick<Config, 'data'>,
  given: Given | undefined,
  name: (files: readonly KeptFile[]) => Promise<T>,
): Promise<T> {
  const kept = await keepAttachments(config, given);
  try {
    return await name(kept);
  } catch (error) {
    if (error instanceof Problem) for (const { file } of kept) await removeKept(config.data, file);
    throw error;
  }
}

async function keepAttachments({ data }: Pick<Config, 'data'>, given: Given = []): Promise<KeptFile[]> {
  const files = given.map(({ filename, data: text }) => ({ filename, content: Buffer.from(text, 'base64') }));
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
  if (bytes > bytesAtOnceMax)
    throw new Problem(
      'too-large',
      `Attachments can have ${bytesAtOnceMax / 1024} KiB together in one request; send the others with comments.`,
    );
  const kept: KeptFile[] = [];
  for (const { filename, content } of files) kept.push({ filename, size: content.length, file: await keepFile(data, content) });
  return kept;
}

/** Call it in the transaction that has locked the ticket: what there is and what comes are counted together. */
export async function attach(tx: Tx, ticketId: number, commentId: number | null, files: readonly KeptFile[]): Promise<void> {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > 0 && (await attachedBytes(tx, ticketId)) + bytes > bytesOfTicketMax)
    throw new Problem(
      'too-large',
      `Attachments of a ticket can have ${bytesOfTicketMax / 1024 / 1024} MiB together; refer to the others by an address.`,
    );
  await insertAttachments(
    tx,
    files.map((file) => ({ ticket_id: ticketId, comment_id: commentId, ...file })),
  );
}
