/** Uses a page as a browser does: reads it, and sends its form with the hidden fields and cookies that the page gave. */
import { read } from '../open-project.ts';
import { visit } from '../visit.ts';

const answered = 400;

export async function submit(address: string, page: string, action: string, fields: Record<string, string>) {
  const shown = await visit(new URL(page, address).href);
  const fieldsOf = /<input type="hidden" name="([^"]+)" value="([^"]*)"/g;
  const hidden = [...shown.text.matchAll(fieldsOf)].map(([, name = '', value = '']): [string, string] => [name, value]);
  const cookies = [shown.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0]);
  const { protocol, hostname } = new URL(address);
  const { status, text } = await visit(new URL(action, address).href, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: `${protocol}//${hostname}`,
      ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
    },
    body: new URLSearchParams([...hidden, ...Object.entries(fields)]).toString(),
  });
  if (status >= answered) throw new Error(`POST ${action} was answered ${status}: ${text.slice(0, 1000)}`);
}

/** Caches of the edge would show what was. */
export const pageOf = (address: string, page: string) => read(address, `${page}?at=${performance.now()}`);
