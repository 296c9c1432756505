/**
 * What all lists have in common: what they are of, in a sentence, the button that adds to them, and a table; blank bars of the same height while it loads, and, where
 * there is nothing yet, what would be here and how to make it so: by a button, by the client, and by a request.
 */
import type { ReactNode } from 'react';
import { Snippet } from '../ui/copy-button.tsx';
import { Bones } from '../ui/notice.tsx';
import { Failure } from './page.tsx';

/** A column of figures is set flush right; one without a visible name is still read out. */
export type Column = string | { number: string } | { unseen: string };
export const actionsColumn: Column = { unseen: 'Actions' };

export interface Empty {
  says: ReactNode;
  button?: ReactNode;
  /** The same with the command-line client. */
  cli?: string | undefined;
  /** The same as a request. */
  curl?: string | undefined;
}

interface List<Row> {
  title: string;
  /** Where the title is to be seen. Otherwise the tab of the page says it, and it is only read out. */
  hasHeading?: boolean;
  about?: ReactNode;
  button?: ReactNode;
  /** What decides which rows there are. */
  filters?: ReactNode;
  /** Undefined while they are on their way. */
  rows: readonly Row[] | undefined;
  error: Error | null;
  columns: readonly Column[];
  look?: string;
  empty: Empty;
  /** A row of the table, with its key. */
  children(row: Row): ReactNode;
}

const bonesShown = 3;
const rowHeight = 40;

export function List<Row>({
  title,
  hasHeading = false,
  about,
  button,
  filters,
  rows,
  error,
  columns,
  look = '',
  empty,
  children,
}: List<Row>) {
  return (
    <section className={hasHeading ? 'section' : undefined} aria-label={title}>
      <div className="section-head">
        <h2 className={hasHeading ? undefined : 'unseen'}>{title}</h2>
        {about !== undefined && <p className="quiet page-intro">{about}</p>}
        {button !== undefined && <span className="push">{button}</span>}
      </div>
      {filters}
      {error && <Failure error={error} />}
      {!rows && !error && <Bones rows={bonesShown} height={rowHeight} />}
      {rows?.length === 0 && <EmptyList {...empty} />}
      {rows && rows.length > 0 && (
        <table className={`table cards ${look}`} aria-label={title}>
          <thead>
            <tr>
              {columns.map((column) => (
                <Heading key={nameOf(column)} of={column} />
              ))}
            </tr>
          </thead>
          <tbody>{rows.map(children)}</tbody>
        </table>
      )}
    </section>
  );
}

function nameOf(column: Column): string {
  if (typeof column === 'string') return column;
  return 'number' in column ? column.number : column.unseen;
}

const Heading = ({ of: column }: { of: Column }) => (
  <th scope="col" className={typeof column === 'object' && 'number' in column ? 'number' : undefined}>
    {typeof column === 'object' && 'unseen' in column ? <span className="unseen">{column.unseen}</span> : nameOf(column)}
  </th>
);

const EmptyList = ({ says, button, cli, curl }: Empty) => (
  <div className="empty">
    {typeof says === 'string' ? <p>{says}</p> : says}
    {button}
    {cli !== undefined && <Snippet label="Copy the command" text={cli} />}
    {curl !== undefined && <Snippet label="Copy the request" text={curl} />}
  </div>
);

/** A request as one would send it from a shell in which TOKEN is an access token; none where the API offers no link to send it to. */
export function curlOf(method: string, href: string | undefined, body?: object): string | undefined {
  if (href === undefined) return undefined;
  const data = body === undefined ? '' : ` \\\n  -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
  return `curl -X ${method} -H "Authorization: Bearer $TOKEN"${data} \\\n  ${new URL(href, location.origin)}`;
}
