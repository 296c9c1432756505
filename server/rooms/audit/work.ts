/** What operators do with commands at the machine is recorded for the organizations that it concerns. */
import { recorded } from '../../kernel/audit.ts';
import type { Db } from '../../kernel/sql.ts';
import { operatorAtMachine } from './queries.ts';

export interface OperatorDeed {
  /** The command, without what it was given: `organization suspend`. */
  command: string;
  /** What was done, for those who read the record. */
  summary: string;
  /** What kind of thing it was done to. */
  kind: string;
  /** Its address, behind that of the organization; empty: the organization itself. */
  target?: string;
  projectId?: string;
}

export const asOperator = <T>(db: Db, organizationId: string, deed: OperatorDeed, work: () => Promise<T>): Promise<T> =>
  recorded(db, [deedIn(organizationId, deed)], work);

/** For what concerns every organization there is. */
export async function asOperatorForAll<T>(db: Db, deed: OperatorDeed, work: () => Promise<T>): Promise<T> {
  const organizations = await db.selectFrom('organizations').select('id').execute();
  return recorded(
    db,
    organizations.map(({ id }) => deedIn(id, deed)),
    work,
  );
}

const deedIn = (organizationId: string, { command, summary, kind, target = '', projectId }: OperatorDeed) => ({
  user_id: operatorAtMachine.id,
  operation: command,
  kind,
  summary,
  target: `/organizations/${organizationId}${target}`,
  scope: { organization: organizationId, ...(projectId !== undefined && { project: projectId }) },
});
