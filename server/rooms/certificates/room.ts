/** Certificates: those that people give to their projects, and those that come by themselves; and what the edge presents for which host. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { renewalActivity } from './renewals.ts';
import { askStatuses, keepCertificates, obtainCertificates, tellCertificates, tellWhenOpen } from './reconcilers.ts';

export const certificates: Room = {
  name: 'Certificates',
  about: 'What proves to visitors that a host is whom its name says.',
  operations,
  activities: { renewalActivity },
  reconcilers: [keepCertificates, obtainCertificates, askStatuses, tellCertificates],
  listeners: [tellWhenOpen],
};
