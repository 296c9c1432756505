/** One way to the API for all of the console: with the access token, and with failures in the API's own words. */
import { accessToken, forgetAccessToken } from '../session/session.ts';

/** A refusal, as the API says it: a sentence, and what is wrong with which field. */
export class Refusal extends Error {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, sentence: string, fields: Readonly<Record<string, string>>) {
    super(sentence);
    this.status = status;
    this.fields = fields;
  }
}

export async function request<T>(method: string, href: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const reply = await open(method, href, body, signal);
  const text = await reply.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** The reply as it comes, for streams. */
export async function open(
  method: string,
  href: string,
  body?: unknown,
  signal?: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const send = (token: string) => fetchWith(token, method, href, body, signal, headers);
  const token = await accessToken();
  const reply = await send(token);
  if (reply.status !== 401) return successful(reply);
  forgetAccessToken(token);
  return successful(await send(await accessToken()));
}

const fetchWith = (
  token: string,
  method: string,
  href: string,
  body: unknown,
  signal: AbortSignal | undefined,
  headers: Readonly<Record<string, string>>,
) =>
  fetch(href, {
    method,
    headers: { ...headers, authorization: `Bearer ${token}`, ...(isJson(body) && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: isJson(body) ? JSON.stringify(body) : (body as FormData) }),
    ...(signal && { signal }),
  });

/** Everything but files. */
const isJson = (body: unknown) => body !== undefined && !(body instanceof FormData);

async function successful(reply: Response): Promise<Response> {
  if (reply.ok) return reply;
  const said = (await reply.json().catch(() => ({}))) as { message?: string; title?: string; detail?: unknown };
  throw new Refusal(reply.status, said.message ?? said.title ?? `The platform answered ${reply.status}.`, fieldsOf(said.detail));
}

function fieldsOf(detail: unknown): Record<string, string> {
  if (typeof detail !== 'object' || detail === null) return {};
  const { error: _whole, ...fields } = detail as Record<string, unknown>;
  return Object.fromEntries(Object.entries(fields).map(([name, sentence]) => [name, String(sentence)]));
}
