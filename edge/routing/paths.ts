/** Paths of URLs: told what they mean, and brought into one spelling. */

/** Decodes percent-encoded bytes once; undefined where they are no UTF-8, or a character that no file's name may have. */
export function decodePath(path: string): string | undefined {
  if (!path.includes('%')) return path.includes('\0') ? undefined : path;
  try {
    const decoded = decodeURIComponent(path);
    return decoded.includes('\0') ? undefined : decoded;
  } catch {
    return undefined;
  }
}

const plainPath = /^[A-Za-z0-9/._~-]*$/;

/** `/caf%c3%a9`, `/caf%C3%A9` and `/café` are one path. What cannot be decoded stays as it is. */
export function normalisePath(path: string): string {
  if (plainPath.test(path)) return path;
  return encodeText(path.replace(/(?:%[0-9a-f]{2})+/gi, normaliseBytes));
}

function normaliseBytes(bytes: string): string {
  const decoded = decodePath(bytes);
  // An encoded slash or percent sign means something else than a plain one, so it stays encoded.
  return decoded === undefined
    ? bytes.toUpperCase()
    : decoded.replace(/[^A-Za-z0-9._~!$&'()*+,;=:@-]/gu, (character) => encodeURIComponent(character));
}

/** Percent-encodes what may not stand in a URL, and leaves all else, also what is encoded already. Lone surrogates become U+FFFD. */
export const encodeText = (text: string): string =>
  /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]*$/.test(text)
    ? text
    : text.toWellFormed().replace(/[^\x21-\x7e]|["<>\\^`{|}]/gu, (character) => encodeURIComponent(character));
