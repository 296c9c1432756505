/** How many backups are stored, read back and restored from at once, on this machine: each takes a processor and some hundred megabytes of its own. */
import { projectLimit } from '../projects/public.ts';

const organizationMax = 2;

export const withinStoreLimit = projectLimit(organizationMax);
