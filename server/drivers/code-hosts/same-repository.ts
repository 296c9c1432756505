/** A name may pass from one repository to another, whose owners are strangers: an organization is renamed, and somebody registers what it was called. Ids stay. */
import { CodeHostFailure } from './code-host-failure.ts';

export interface Connected {
  /** As people call the host. */
  host: string;
  /** As it was given. */
  repository: string;
  /** Undefined until it was verified. */
  repositoryId: string | undefined;
}

/** What was found, where it is the repository that was connected, or none was yet. */
export function refuseReplaced<T extends { id: string }>(found: T, { host, repository, repositoryId }: Connected): T {
  if (repositoryId === undefined || found.id === repositoryId) return found;
  throw new CodeHostFailure(
    'replaced',
    `${repository} at ${host} is another repository than the one that was connected: that one was deleted, or renamed and its name taken over. ` +
      'Nothing is fetched from it. If it is yours, delete the integration and add it again; otherwise give the name that your repository has now.',
  );
}
