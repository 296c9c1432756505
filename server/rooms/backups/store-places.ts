/** Places to store backups, read them back and restore from them, on this machine: each takes a processor and some hundred megabytes of its own. */
import { openProjectPlaces } from '../projects/public.ts';

const organizationMax = 2;

export const inStorePlace = openProjectPlaces(organizationMax);
