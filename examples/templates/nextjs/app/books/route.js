import { database } from '../../database.js';

/** A plain form: it also works before any script has arrived. */
export async function POST(request) {
  const form = await request.formData();
  const words = (name) => String(form.get(name) ?? '').slice(0, 200);
  await database.query('insert into books (title, author) values ($1, $2) on conflict (title) do nothing', [
    words('title'),
    words('author'),
  ]);
  return new Response(null, { status: 303, headers: { location: '/' } });
}
