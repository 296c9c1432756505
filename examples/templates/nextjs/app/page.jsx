import { database } from '../database.js';

/** Asked for anew by each visit: the build has no database. */
export const dynamic = 'force-dynamic';

export default async function Shelf() {
  const { rows } = await database.query('select id, title, author, is_read from books order by id');
  return (
    <main>
      <h1>Shelf of {process.env.PLATFORM_BRANCH ?? 'nowhere'}</h1>
      <ul>
        {rows.map(({ id, title, author, is_read }) => (
          <li key={id} className={is_read ? 'read' : ''}>
            {title}, {author}
          </li>
        ))}
      </ul>
      <form method="post" action="/books">
        <input name="title" required placeholder="Title" />
        <input name="author" required placeholder="Author" />
        <button>Add</button>
      </form>
    </main>
  );
}
