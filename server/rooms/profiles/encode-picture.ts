/**
 * What people upload becomes a small square picture that we encoded ourselves: nothing of the file survives but its colours. Its
 * type is decided by its content, not by its name. Only four decoders are switched on, the number of pixels is bounded before any is decoded, and one picture
 * is worked on at a time, so that a file which unpacks to gigabytes or takes for ever costs little.
 */
import type { Sharp, SharpOptions } from 'sharp';
import { invalidField, Problem } from '../../kernel/problem.ts';

export const pictureType = 'image/webp';
export const pictureSidePixelsMax = 512;
const pixelsMax = 25_000_000;
const decodeSecondsMax = 10;
const waitingMax = 20;

const formats = new Set(['jpeg', 'png', 'webp', 'gif']);
const decoders = ['Jpeg', 'Png', 'Webp', 'Nsgif'].map((name) => `VipsForeignLoad${name}Buffer`);

/** Sharp is loaded with the first picture, because it takes 25 MB of memory that most processes never need. */
const loadSharp = async () => {
  const { default: sharp } = await import('sharp');
  sharp.cache(false);
  sharp.concurrency(1);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: decoders });
  return sharp;
};
let loaded: ReturnType<typeof loadSharp> | undefined;

let last: Promise<unknown> = Promise.resolve();
let waiting = 0;

export async function encodePicture(file: Buffer): Promise<Buffer> {
  if (waiting >= waitingMax)
    throw new Problem('unavailable', 'Many pictures are being uploaded at the moment; try again shortly.', {
      headers: { 'retry-after': '5' },
    });
  waiting += 1;
  const mine = last.then(() => encode(file)).finally(() => (waiting -= 1));
  last = mine.catch(() => {});
  return mine;
}

async function encode(file: Buffer): Promise<Buffer> {
  const sharp = await (loaded ??= loadSharp());
  const options: SharpOptions = { limitInputPixels: pixelsMax, failOn: 'error', pages: 1 };
  try {
    const { width, height, format } = await sharp(file, options).metadata();
    if (!formats.has(format)) throw notAPicture();
    if (width * height > pixelsMax) throw tooLarge();
    return await square(sharp(file, options), Math.min(width, height, pictureSidePixelsMax));
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw String(error).includes('pixel limit') ? tooLarge() : notAPicture(error);
  }
}

/** The picture is turned upright, as the camera recorded it, and cropped around its middle. */
const square = (picture: Sharp, side: number) =>
  picture.autoOrient().resize(side, side, { fit: 'cover' }).webp({ quality: 85 }).timeout({ seconds: decodeSecondsMax }).toBuffer();

const notAPicture = (cause?: unknown) =>
  new Problem('invalid-request', 'file must be a JPEG, PNG, WebP or GIF picture.', {
    fields: { file: 'must be a JPEG, PNG, WebP or GIF picture' },
    cause,
  });

const tooLarge = () => invalidField('file', `must have at most ${pixelsMax / 1_000_000} million pixels`);
