/** Which of the images that a first push is likely to need are there, for `./offshoot doctor` and the operator's page. Images that are still being brought are no problem. */
import type { Config } from '../../config.ts';
import { isBringing, readAhead } from '../../drivers/images/ahead.ts';
import type { Finding } from './findings.ts';

export async function aheadFinding({ images, imagesAhead }: Pick<Config, 'images' | 'imagesAhead'>): Promise<Finding> {
  if (imagesAhead.length === 0) return { ok: true, found: 'none are wanted' };
  const { brought, bringing, problem } = readAhead(images);
  const missing = imagesAhead.filter((type) => !Object.hasOwn(brought, type));
  const there = `${imagesAhead.length - missing.length} of ${imagesAhead.length} were brought`;
  if (missing.length === 0) return { ok: true, found: there };
  if (bringing && (await isBringing(images))) return { ok: true, found: `${there}; ${bringing.type} is at ${bringing.percent} %` };
  if (problem !== undefined) return { ok: false, found: `${there}; ${problem.split('\n')[0]}` };
  return { ok: true, found: `${there}; a running platform brings ${missing.join(', ')}` };
}
