/** The beginning and the end of a sign-in by authorization code: what this tab remembers meanwhile proves that the answer is its own. */
const rememberedAs = 'offshoot-sign-in';

export interface BegunSignIn {
  state: string;
  verifier: string;
  /** The page, inside the console, that the person was on. */
  returnTo: string;
}

export async function beginSignIn(returnTo: string): Promise<{ state: string; challenge: string }> {
  const begun: BegunSignIn = { state: randomText(), verifier: randomText(), returnTo };
  sessionStorage.setItem(rememberedAs, JSON.stringify(begun));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(begun.verifier));
  return { state: begun.state, challenge: base64url(new Uint8Array(hash)) };
}

/** What was remembered, once: a second answer to the same sign-in finds nothing. */
export function endSignIn(): BegunSignIn | undefined {
  const text = sessionStorage.getItem(rememberedAs);
  sessionStorage.removeItem(rememberedAs);
  return text === null ? undefined : (JSON.parse(text) as BegunSignIn);
}

const randomText = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
