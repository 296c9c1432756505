/** What is to be written together with whatever a piece of work writes: along with the first of its transactions that commits. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { CompiledQuery, DatabaseConnection } from 'kysely';

export interface Companion {
  statement(): CompiledQuery;
  /** Its transaction committed. */
  isWritten: boolean;
}

const companions = new AsyncLocalStorage<Companion>();

export const accompanied = <T>(companion: Companion, work: () => Promise<T>): Promise<T> => companions.run(companion, work);

/** What accompanies the work that is under way, if anything. */
export const companion = (): Companion | undefined => companions.getStore();

/** Where nothing accompanies the work this costs no statement. */
export async function commitWithCompanion(connection: DatabaseConnection, commit: () => Promise<void>): Promise<void> {
  const waiting = companion();
  if (!waiting || waiting.isWritten) return commit();
  await connection.executeQuery(waiting.statement());
  await commit();
  waiting.isWritten = true;
}
