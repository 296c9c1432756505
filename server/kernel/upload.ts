/**
 * A file in a request: `multipart/form-data`, as browsers and curl send it. Unlike other bodies it is not read before the caller is known
 * and permitted: a stranger cannot fill our memory.
 */
import { Busboy } from '@fastify/busboy';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';
import { invalidField, Problem } from './problem.ts';

const bytesKeyword = 'x-bytes-max';
const partsMax = 10;
const fieldBytesMax = 1024;
const multipart = 'multipart/form-data';

/** A body of one file under this name. Other fields of the form are ignored. */
export const fileUpload = <Field extends string>(field: Field, bytesMax: number, description: string) =>
  Type.Unsafe<Record<Field, Buffer>>({
    type: 'object',
    required: [field],
    properties: { [field]: { type: 'string', format: 'binary', [bytesKeyword]: bytesMax, description } },
  });

export const isUpload = (body: TSchema | undefined): boolean => uploadOf(body) !== undefined;

function uploadOf(body: TSchema | undefined): { field: string; bytesMax: number } | undefined {
  const { properties = {} }: { properties?: Record<string, Record<string, unknown>> } = body ?? {};
  const found = Object.entries(properties).find(([, property]) => property['format'] === 'binary');
  return found && { field: found[0], bytesMax: Number(found[1][bytesKeyword]) };
}

/** Leaves the bodies of requests in this scope to `receiveUpload`. */
export function leaveBodiesUnread(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

export async function receiveUpload({ raw, headers }: FastifyRequest, body: TSchema): Promise<Record<string, Buffer>> {
  const { field, bytesMax } = uploadOf(body) ?? { field: '', bytesMax: 0 };
  const type = headers['content-type'] ?? '';
  if (type.split(';', 1)[0]?.trim().toLowerCase() !== multipart)
    throw new Problem('unsupported-media-type', `Send the file as ${multipart}, in the field ${field}.`);
  const file = await readForm(raw, type, field, bytesMax);
  if (!file) throw invalidField(field, 'is required, as a file');
  return { [field]: file };
}

/** Answers the first file of that name; throws a Problem when it is too large or the form makes no sense. */
function readForm(raw: IncomingMessage, type: string, field: string, bytesMax: number): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const notAForm = (cause?: unknown) => new Problem('invalid-request', 'The body is not a well-formed form with a file.', { cause });
  const limits = { fileSize: bytesMax, files: partsMax, fields: partsMax, parts: partsMax, fieldSize: fieldBytesMax };
  try {
    const form = new Busboy({ headers: { 'content-type': type }, limits });
    let chunks: Buffer[] | undefined;
    form.on('file', (name, stream) => {
      const wanted = name === field && chunks === undefined;
      if (wanted) chunks = [];
      stream.on('data', (chunk: Buffer) => void (wanted && chunks?.push(chunk)));
      stream.on('limit', () => reject(new Problem('too-large', `${field} must be at most ${bytesMax / 1024 / 1024} MiB.`)));
      stream.on('error', (cause) => reject(notAForm(cause)));
    });
    form.on('error', (cause) => reject(notAForm(cause)));
    form.on('finish', () => resolve(chunks && Buffer.concat(chunks)));
    raw.on('error', (cause) => reject(notAForm(cause)));
    raw.on('close', () => void (raw.readableEnded || reject(notAForm())));
    raw.pipe(form);
    return promise.finally(() => raw.unpipe(form));
  } catch (cause) {
    /** The content type has no boundary. */
    throw notAForm(cause);
  }
}
