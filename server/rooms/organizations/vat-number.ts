/**
 * VAT numbers as countries write them: the European Union, and those of its neighbours that tax in the same way. The form is checked, and the check digits where they follow
 * from a simple rule; whether the number was ever given to anybody is not asked of any register.
 */
interface VatForm {
  /** Of what follows the prefix. */
  pattern: RegExp;
  example: string;
  /** Whether the digits fit each other. */
  fits?: (digits: string) => boolean;
}

const at = (digits: string, index: number) => Number(digits[index]);
const weighed = (digits: string, weights: readonly number[]) => weights.reduce((sum, weight, index) => sum + weight * at(digits, index), 0);

/** The last digit, as in numbers of cards. */
const luhn = (digits: string) =>
  Array.from(digits).reduce((sum, digit, index) => {
    const value = Number(digit) * ((digits.length - index) % 2 === 0 ? 2 : 1);
    return sum + (value > 9 ? value - 9 : value);
  }, 0) %
    10 ===
  0;

const weightedBy11 = (weights: readonly number[]) => (digits: string) =>
  (weighed(digits, weights) % 11) % 10 === at(digits, weights.length);
const complementOf11 = (weights: readonly number[]) => (digits: string) =>
  (11 - (weighed(digits, weights) % 11)) % 11 === at(digits, weights.length);

/** ISO 7064, MOD 11,10. */
const mod11And10 = (digits: string) => {
  const product = Array.from(digits.slice(0, -1)).reduce((kept, digit) => {
    const sum = (Number(digit) + kept) % 10 || 10;
    return (2 * sum) % 11;
  }, 10);
  return (11 - product) % 10 === at(digits, digits.length - 1);
};

const remainder97 = (digits: string) => Number(BigInt(digits) % 97n);
const lettersAsNumbers = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));

const dutch = (text: string) => complementOfDutch(text.slice(0, 9)) || remainder97(lettersAsNumbers(`NL${text}`)) === 1;
const complementOfDutch = (digits: string) => weighed(digits, [9, 8, 7, 6, 5, 4, 3, 2]) % 11 === at(digits, 8);

/** By the prefix of the number, which is the code of the country except for Greece and Northern Ireland. */
const forms: Record<string, VatForm> = {
  AT: { pattern: /^U\d{8}$/, example: 'ATU12345675', fits: (text) => austrian(text.slice(1)) },
  BE: {
    pattern: /^[01]\d{9}$/,
    example: 'BE0123456749',
    fits: (digits) => 97 - (Number(digits.slice(0, 8)) % 97) === Number(digits.slice(8)),
  },
  BG: { pattern: /^\d{9,10}$/, example: 'BG123456789' },
  CH: {
    pattern: /^E\d{9}(MWST|TVA|IVA)?$/,
    example: 'CHE123456788',
    fits: (text) => complementOf11([5, 4, 3, 2, 7, 6, 5, 4])(text.slice(1)),
  },
  CY: { pattern: /^\d{8}[A-Z]$/, example: 'CY12345678X' },
  CZ: { pattern: /^\d{8,10}$/, example: 'CZ12345678' },
  DE: { pattern: /^\d{9}$/, example: 'DE123456788', fits: mod11And10 },
  DK: { pattern: /^\d{8}$/, example: 'DK12345674', fits: (digits) => weighed(digits, [2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0 },
  EE: {
    pattern: /^\d{9}$/,
    example: 'EE123456780',
    fits: (digits) => (10 - (weighed(digits, [3, 7, 1, 3, 7, 1, 3, 7]) % 10)) % 10 === at(digits, 8),
  },
  EL: { pattern: /^\d{9}$/, example: 'EL123456783', fits: weightedBy11([256, 128, 64, 32, 16, 8, 4, 2]) },
  ES: { pattern: /^[A-Z0-9]\d{7}[A-Z0-9]$/, example: 'ESB12345678' },
  FI: { pattern: /^\d{8}$/, example: 'FI12345671', fits: complementOf11([7, 9, 10, 5, 8, 4, 2]) },
  FR: { pattern: /^[A-Z0-9]{2}\d{9}$/, example: 'FR32123456789', fits: french },
  GB: { pattern: /^(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/, example: 'GB123456789' },
  HR: { pattern: /^\d{11}$/, example: 'HR12345678903', fits: mod11And10 },
  HU: {
    pattern: /^\d{8}$/,
    example: 'HU12345676',
    fits: (digits) => (10 - (weighed(digits, [9, 7, 3, 1, 9, 7, 3]) % 10)) % 10 === at(digits, 7),
  },
  IE: { pattern: /^(\d{7}[A-W][A-I]?|\d[A-Z+*]\d{5}[A-W])$/, example: 'IE1234567T' },
  IT: { pattern: /^\d{11}$/, example: 'IT12345678903', fits: luhn },
  LT: { pattern: /^(\d{9}|\d{12})$/, example: 'LT123456789' },
  LU: { pattern: /^\d{8}$/, example: 'LU12345613', fits: (digits) => Number(digits.slice(0, 6)) % 89 === Number(digits.slice(6)) },
  LV: { pattern: /^\d{11}$/, example: 'LV12345678901' },
  MT: {
    pattern: /^\d{8}$/,
    example: 'MT12345634',
    fits: (digits) => 37 - (weighed(digits, [3, 4, 6, 7, 8, 9]) % 37) === Number(digits.slice(6)),
  },
  NL: { pattern: /^\d{9}B\d{2}$/, example: 'NL123456782B01', fits: dutch },
  NO: { pattern: /^\d{9}(MVA)?$/, example: 'NO123456785MVA', fits: complementOf11([3, 2, 7, 6, 5, 4, 3, 2]) },
  PL: {
    pattern: /^\d{10}$/,
    example: 'PL1234567883',
    fits: (digits) => weighed(digits, [6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 === at(digits, 9),
  },
  PT: {
    pattern: /^\d{9}$/,
    example: 'PT123456789',
    fits: (digits) => ((11 - (weighed(digits, [9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11) % 10 === at(digits, 8),
  },
  RO: { pattern: /^[1-9]\d{1,9}$/, example: 'RO12345678' },
  SE: { pattern: /^\d{10}01$/, example: 'SE123456789701', fits: (digits) => luhn(digits.slice(0, 10)) },
  SI: {
    pattern: /^[1-9]\d{7}$/,
    example: 'SI12345679',
    fits: (digits) => (11 - (weighed(digits, [8, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === at(digits, 7),
  },
  SK: { pattern: /^[1-9]\d{9}$/, example: 'SK1234567895', fits: (digits) => Number(digits) % 11 === 0 },
  XI: { pattern: /^(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/, example: 'XI123456789' },
};

function austrian(digits: string): boolean {
  const sum = [1, 2, 1, 2, 1, 2, 1].reduce((total, weight, index) => {
    const value = weight * at(digits, index);
    return total + Math.floor(value / 10) + (value % 10);
  }, 4);
  return (10 - (sum % 10)) % 10 === at(digits, 7);
}

/** Only keys of two digits follow from the number. */
function french(text: string): boolean {
  const [key, siren] = [text.slice(0, 2), text.slice(2)];
  return !/^\d\d$/.test(key) || (12 + 3 * (Number(siren) % 97)) % 97 === Number(key);
}

const prefixes: Record<string, string> = { GR: 'EL' };
const countries: Record<string, string> = { EL: 'GR', XI: 'GB' };

/** Without what people put between the digits. */
export const normalisedVatNumber = (text: string): string => text.toUpperCase().replaceAll(/[\s.\-/]/g, '');

/** The country whose number it is, however it is written; undefined where that cannot be told, or where it is none. */
export function countryOfVatNumber(text: string): string | undefined {
  const number = normalisedVatNumber(text);
  const prefix = number.slice(0, 2);
  const country = countries[prefix] ?? prefix;
  return Object.hasOwn(forms, prefix) && vatNumberMistake(number, country) === undefined ? country : undefined;
}

/** What is wrong with a number of somebody in this country; undefined: nothing that can be seen. Of other countries every number is taken. */
export function vatNumberMistake(number: string, country: string): string | undefined {
  const prefix = number.slice(0, 2);
  const form = Object.hasOwn(forms, prefix) ? forms[prefix] : undefined;
  const expected = forms[prefixes[country] ?? country];
  if (!form) return expected && `must begin with the country, as in ${expected.example}`;
  const rest = number.slice(2);
  // A number of another country may begin with the same letters.
  if (!form.pattern.test(rest)) return expected && `must be written as in ${form.example}`;
  return (form.fits?.(rest) ?? true)
    ? undefined
    : 'has a mistake in it: its check digits do not fit; compare it with what the tax office sent';
}

export const vatExamples = Object.values(forms).map(({ example }) => example);
