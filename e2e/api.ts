/** The API, called as any program would. */
const answerSecondsMax = 60;

export interface Reply {
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
  json: any;
}

export async function send(url: string, accessToken: string, method: string, path: string, body?: unknown): Promise<Reply> {
  const reply = await fetch(new URL(path, url), {
    method,
    headers: { authorization: `Bearer ${accessToken}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(answerSecondsMax * 1000),
  });
  const text = await reply.text();
  return { status: reply.status, json: text === '' ? undefined : JSON.parse(text) };
}

/** What `service-description.md` says: HTTP Basic with the fixed name and no password, and a form. */
export async function exchange(url: string, apiToken: string): Promise<Reply> {
  const reply = await fetch(new URL('/oauth2/token', url), {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('platform-api-user:')}` },
    body: new URLSearchParams({ grant_type: 'api_token', api_token: apiToken }),
    signal: AbortSignal.timeout(answerSecondsMax * 1000),
  });
  return { status: reply.status, json: await reply.json() };
}

export async function accessToken(url: string, apiToken: string): Promise<string> {
  const { status, json } = await exchange(url, apiToken);
  if (status !== 200) throw new Error(`The API token was not exchanged: ${status} ${JSON.stringify(json)}`);
  return json.access_token;
}
