import { Children, type ReactNode } from 'react';

interface RunTable {
  title: string;
  about: string;
  columns: readonly string[];
  /** Said where there is no row. */
  nothing: string;
  children: ReactNode;
}

/** What can be run, one in each row, with the button at its end. */
export const RunTable = ({ title, about, columns, nothing, children }: RunTable) => (
  <section className="section" aria-label={title}>
    <div className="section-head">
      <h2>{title}</h2>
      <span className="quiet">{about}</span>
    </div>
    {Children.count(children) === 0 ? (
      <p className="quiet">{nothing}</p>
    ) : (
      <table className="table cards">
        <thead>
          <tr>
            <th scope="col">Name</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            <th scope="col">
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    )}
  </section>
);
