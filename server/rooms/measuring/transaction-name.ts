/**
 * What a request is called where nobody names it but its path: the path, with what differs from one thing to the next left out. `/users/17/orders/9f8c…` and `/users/18/orders/77aa…` are
 * one transaction, `/users/{id}/orders/{hash}`.
 */
const segmentsMax = 12;
const charactersMax = 200;

/** The first that fits is it. */
const placeholders: readonly [pattern: RegExp, placeholder: string][] = [
  [/^[0-9]+$/, '{id}'],
  [/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, '{uuid}'],
  [/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/, '{date}'],
  [/^(?=.*[0-9])[0-9a-f]{12,}$/i, '{hash}'],
  // Letters and digits mixed for so long are no word.
  [/^(?=.*[0-9])(?=.*[a-z])[0-9a-z_~.+=-]{24,}$/i, '{token}'],
  [/^.{65,}$/, '{token}'],
];

/** A file that is named by what is in it keeps its ending: `app.3f2c….js`. */
const hashInName = /(?<=[.-])(?=[0-9a-f]*[0-9])[0-9a-f]{8,}(?=\.[a-z0-9]{1,6}$)/i;

/** `url` is as the edge tells it: percent-encoded, perhaps with names of a query. */
export function transactionNameOf(url: string): string {
  const [path = ''] = url.split('?', 1);
  const segments = path.split('/');
  const named = segments.slice(0, segmentsMax + 1).map(withoutWhatDiffers);
  const rest = segments.length > segmentsMax + 1 ? '/…' : '';
  return `${named.join('/').slice(0, charactersMax)}${rest}`;
}

function withoutWhatDiffers(segment: string): string {
  for (const [pattern, placeholder] of placeholders) if (pattern.test(segment)) return placeholder;
  return segment.replace(hashInName, '{hash}');
}
