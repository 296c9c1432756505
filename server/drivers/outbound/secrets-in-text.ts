/** Texts that others wrote go into sentences for people and into logs. Whoever was sent something may quote it. */

/** Shorter texts are found in ordinary words; nobody gives out secrets that short. */
const secretCharactersMin = 6;

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const spellings = secrets.flatMap(spellingsOf).toSorted((one, other) => other.length - one.length);
  if (spellings.length === 0) return text;
  return text.replaceAll(new RegExp(spellings.map(literally).join('|'), 'g'), '[secret]');
}

/** As it is, and as it stands in addresses, in JSON and in Basic authentication. A key in PEM is often quoted without the end of its last line. */
function spellingsOf(secret: string): string[] {
  const whole = secret.trim();
  return whole.length < secretCharactersMin ? [] : [whole, encodeURIComponent(whole), JSON.stringify(whole).slice(1, -1), base64(whole)];
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

const literally = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
