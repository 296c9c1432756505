/** Run by each deployment: makes the table, and fills it the first time. */
import { database } from './database.js';

const books = [
  ['The Overstory', 'Richard Powers', true],
  ['Braiding Sweetgrass', 'Robin Wall Kimmerer', false],
  ['The Wild Places', 'Robert Macfarlane', false],
];

await database.query(`create table if not exists books (
  id bigint generated always as identity primary key, title text not null unique, author text not null, is_read boolean not null default false)`);
const { rows } = await database.query('select count(*)::int as count from books');
if (rows[0].count === 0)
  for (const book of books) await database.query('insert into books (title, author, is_read) values ($1, $2, $3)', book);
await database.end();
console.log('The shelf is ready');
