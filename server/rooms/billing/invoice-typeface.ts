/**
 * What invoices are printed in. Most need nothing but the fonts that every reader of PDF has. Whatever has letters beyond those is printed as a whole in a font of this machine
 * (./offshoot brings them), of which only the letters that occur are put into the file. Where the machine has no such font, letters lose their marks, and all else is a question mark.
 */
import { existsSync } from 'node:fs';

interface Typeface {
  regular: Font;
  bold: Font;
  /** The characters that it has. */
  shows: RegExp;
}

interface Font {
  /** A file, or one of the standard fonts. */
  source: string;
  /** Which font of the file. */
  family?: string;
}

const standard: Typeface = {
  regular: { source: 'Helvetica' },
  bold: { source: 'Helvetica-Bold' },
  // Windows-1252.
  shows: /[ -~\u00a0-\u00ff€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ\n]/,
};

const european = String.raw`\n\u0020-\u036f\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\u2000-\u206f\p{Sc}`;

const dejavu: Typeface = {
  regular: { source: '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf' },
  bold: { source: '/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf' },
  shows: new RegExp(String.raw`[${european}\p{sc=Armenian}\p{sc=Georgian}]`, 'u'),
};

/** Has one weight only. */
const microHei: Font = { source: '/usr/share/fonts/truetype/wqy/wqy-microhei.ttc', family: 'WenQuanYiMicroHei' };
const eastern: Typeface = {
  regular: microHei,
  bold: microHei,
  shows: new RegExp(
    String.raw`[${european}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Bopomofo}\u3000-\u33ff\uff00-\uffef]`,
    'u',
  ),
};

const isThere = ({ regular, bold }: Typeface) => [regular, bold].every(({ source }) => !source.startsWith('/') || existsSync(source));

/** The first that shows all of it; else the one that shows most. */
export function typefaceFor(text: string): Typeface {
  const characters = Array.from(text.normalize('NFC'));
  const missing = ({ shows }: Typeface) => characters.filter((character) => !shows.test(character)).length;
  return [standard, dejavu, eastern].filter(isThere).reduce((best, each) => (missing(each) < missing(best) ? each : best));
}

const plainLetters: Record<string, string> = { ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ı: 'i', '\u202f': ' ', '−': '-' };

/** The text as a typeface can show it. */
export const printableIn =
  ({ shows }: Typeface) =>
  (text: string): string =>
    Array.from(text.normalize('NFC'), (character) => {
      if (shows.test(character)) return character;
      const plain = plainLetters[character] ?? character.normalize('NFKD').replaceAll(/\p{M}/gu, '');
      return Array.from(plain, (each) => (shows.test(each) ? each : '?')).join('');
    }).join('');
