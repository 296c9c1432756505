/** Service types that are shipped as descriptions, each a file in `described`: images of others, which nobody has to have run here. A test holds each to what descriptions can say. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describedEntry } from './described-service.ts';
import type { ServiceEntry } from './entry.ts';
import { knownDescription } from './read-description.ts';

const folder = join(import.meta.dirname, 'described');

/** The texts of the files by the name of the type. */
export const shippedDescriptions: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => [file.replace(/\.yaml$/, ''), readFileSync(join(folder, file), 'utf8')]),
);

/** All but those whose name is taken. */
export const shippedServices = (taken: readonly string[]): Readonly<Record<string, ServiceEntry>> =>
  Object.fromEntries(
    Object.entries(shippedDescriptions)
      .filter(([name]) => !taken.includes(name))
      .map(([name, text]) => [name, describedEntry(knownDescription(text))]),
  );
