/**
 * Hides what tells who somebody is, and what lets somebody in, from lines of logs that leave the platform. It knows forms and not meanings: names, streets and
 * whatever has no form of its own pass. A line is redacted before it is written for a sink, so that nothing of it leaves this process.
 */
import { isIPv6 } from 'node:net';

interface Form {
  pattern: RegExp;
  shown: string;
  /** Where the form alone says too little. */
  is?(found: string): boolean;
}

/** In this order: what holds other forms comes first. */
const forms: readonly Form[] = [
  { pattern: /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/g, shown: '[token]' },
  { pattern: /(?<=\b(?:bearer|basic) )[\w+/=.~-]{8,}/gi, shown: '[token]' },
  { pattern: /(?<=:\/\/[^\s/:@]{0,200}:)[^\s/@]{1,200}(?=@)/g, shown: '[password]' },
  {
    pattern:
      /(?<=\b(?:password|passwd|pwd|secret|token|api_?key|access_?key|client_?secret|session_?id)["']?\s{0,3}[=:]\s{0,3}["']?)[^\s"'&,;]{1,500}/gi,
    shown: '[secret]',
  },
  { pattern: /[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}/gi, shown: '[e-mail]' },
  { pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b/g, shown: '[account]', is: isAccount },
  { pattern: /\b\d(?:[ -]?\d){12,18}\b/g, shown: '[card]', is: isCard },
  { pattern: /\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b/g, shown: '[address]' },
  { pattern: /(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])/gi, shown: '[address]', is: isIPv6 },
];

export function redacted(line: string): string {
  let text = line;
  for (const { pattern, shown, is } of forms) text = text.replace(pattern, (found: string) => (is && !is(found) ? found : shown));
  return text;
}

/** The check digit of payment cards. */
function isCard(found: string): boolean {
  const digits = Array.from(found.replace(/\D/g, ''), Number).toReversed();
  const sum = digits.reduce((total, digit, nth) => total + (nth % 2 === 0 ? digit : digit > 4 ? 2 * digit - 9 : 2 * digit), 0);
  return sum % 10 === 0;
}

/** The check digits of international bank account numbers. */
function isAccount(found: string): boolean {
  const text = found.replaceAll(' ', '');
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) rest = Number(`${rest}${Number.parseInt(character, 36)}`) % 97;
  return rest === 1;
}
