import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readRegexp, regexpList } from './bounded-regexp.ts';

const millisecondsMax = 50;
/** Of this thread alone: the machine may have others to serve. */
const processorMilliseconds = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
const subjects = [
  'a'.repeat(30),
  'a'.repeat(8000),
  `${'a'.repeat(8000)}!`,
  'ab'.repeat(4000),
  `/${'a/'.repeat(2000)}`,
  `${' '.repeat(5000)}x`,
];

/** Known to be slow somewhere, each in its own way. */
const hostile = [
  '(a+)+$',
  '^(a+)+$',
  '^(a|a)*$',
  '^(a|aa)+$',
  '(a*)*b',
  '(.*)*x',
  '(x+x+)+y',
  'a*a*a*a*a*a*b',
  '.*.*.*=.*',
  '(a{1,30}){1,30}$',
  '^(?:a?){30}a{30}$',
  '((a{1,100}){1,100}){1,100}$',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(?=(a+)+$)b',
  '(?<!(a+)+)b$',
  '(a+)\\1+b',
  '(?i)^(A+)+$',
  '\\s+$',
  '^(?:[^/]+/)*$x',
  '(?:(?:a|b)|(?:b|a))*c',
  `${'(?:a|'.repeat(300)}b${')'.repeat(300)}*c`,
  `${'a?'.repeat(500)}${'a'.repeat(500)}`,
];

test.each(hostile)('%s never keeps the edge from its work', (source) => {
  for (const subject of subjects) {
    const list = regexpList([source]);
    const start = processorMilliseconds();
    list.first(subject);
    expect(processorMilliseconds() - start).toBeLessThan(millisecondsMax);
  }
});

test('a list of a thousand hostile ones takes no longer than one, and rests afterwards', () => {
  const list = regexpList(Array.from({ length: 1000 }, (_, index) => `^(a+)+${index}$`));
  const subject = 'a'.repeat(5000);
  const start = processorMilliseconds();
  expect(list.first(subject)).toBe('undecided');
  for (let times = 0; times < 1000; times += 1) list.first(subject);
  expect(processorMilliseconds() - start).toBeLessThan(millisecondsMax);
});

const piece = fc.constantFrom(
  'a',
  'b',
  'c',
  '/',
  '.',
  'a*',
  'b+',
  'a?',
  '.*',
  '.*?',
  '[ab]+',
  '[^/]*',
  '(a|b)',
  '(a|ab)?',
  '(ab|a)+',
  '(?:a|b*)*',
  '(?:(a)|b)*',
  'a{2,5}',
  'b{2,}?',
  '(aa){1,3}',
  '(?:ab)*',
  '(a*)*',
  '(a*?)+?',
  '^',
  '$',
  '|',
  '(?=a*b)',
  '(?!.*c)',
  '(?<=a)',
  '(?<!b)',
  '\\w*',
  '\\b',
  '\\B',
  '\\d',
  '[^\\w/]',
  '[\\d-]',
  '[a-c\\-.]',
  '[^]',
  '\\S',
  '[\\s\\S]',
  '\\W+',
  '[A-Z]',
  '[^a-z]',
  '\\t',
  '\\x61',
  '\\/',
  '()',
  '(a)?',
  '{',
);
const sources = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(''));
const flagged = fc.tuple(fc.constantFrom('', '(?i)'), sources).map((parts) => parts.join(''));
const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A', '/', '.', '-', 'ä', '{', '\n', '1'), maxLength: 14 });

test('what they find, and what they catch, is what V8 finds', () => {
  let matches = 0;
  fc.assert(
    fc.property(flagged, texts, (source, text) => {
      const native = nativeOf(source);
      if (!native) return;
      const found = regexpList([source]).first(text);
      if (found === 'undecided') throw new Error('undecided');
      const expected = native.exec(text);
      if (expected) matches += 1;
      expect(found && [...found.groups]).toEqual(expected ? [...expected] : undefined);
    }),
    { numRuns: 10_000 },
  );
  expect(matches).toBeGreaterThan(1000);
});

function nativeOf(source: string): RegExp | undefined {
  try {
    return source.startsWith('(?i)') ? new RegExp(source.slice(4), 'i') : new RegExp(source);
  } catch {
    return undefined;
  }
}

test('groups are caught as V8 catches them, also those behind and those referred to', () => {
  const cases: [string, string][] = [
    ['(z)((a+)?(b+)?(c))*', 'zaacbbbcac'],
    ['(a*)(b)\\1c', 'aabaac'],
    ['(?<year>\\d{4})-\\k<year>', 'x2024-2024'],
    ['(?=(a+))a*b\\1', 'baaabac'],
    ['(.*?)a(?!(a+)b\\2c)\\2(.*)', 'baaabaac'],
    ['[\\]a-c]+[^]', 'x]ab!'],
    ['\\x41\\u0042\\.', 'AB.'],
    ['(?:){3}a', 'a'],
    ['(a?b??)*', 'ab'],
    ['(?:(?=(a)))?b', 'b'],
    ['(\\2)(a)', 'a'],
    ['[a-zé]+$', 'xé'],
  ];
  for (const [source, text] of cases) {
    const found = regexpList([source]).first(text);
    const expected = nativeOf(source)?.exec(text);
    expect([source, typeof found === 'object' && [...found.groups]]).toEqual([source, expected ? [...expected] : false]);
  }
});

test.each([
  '\\.(css|js|gif|jpe?g|png|ttf|eot|woff2?|otf|html|ico|svg?)$',
  '^/foo/(.*)/bar$',
  '^/sites/[^/]+/settings.*?\\.php$',
  '^(?!/admin)',
  '(?<!-lock)\\.json$',
  '^/([^/]+/)*x$',
])('%s is decided for a path of 300 characters', (source) => {
  expect(regexpList([source]).first(`/${'some-part/'.repeat(30)}`)).not.toBe('undecided');
});

test('they are asked in order, and the first that matches says what it caught', () => {
  const list = regexpList(['^/no$', '^/(?P<year>\\d+)/(.*)$', '.*']);
  expect(list.first('/2024/x')).toMatchObject({ index: 1, named: { year: '2024' } });
  const found = list.first('/2024/x');
  expect(typeof found === 'object' && [...found.groups]).toEqual(['/2024/x', '2024', 'x']);
  expect(list.first('/other')).toMatchObject({ index: 2 });
  expect(regexpList(['^/no$']).first('/other')).toBeUndefined();
  expect(regexpList(['(?i)\\.JPG$']).first('/a.jpg')).toMatchObject({ index: 0 });
  expect(regexpList(['\\A/a\\z']).first('/a')).toMatchObject({ index: 0 });
});

test('so many that they cannot be made ready in one look are made ready over several', () => {
  const list = regexpList([...Array.from({ length: 2000 }, (_, index) => `^/section-${index}/[a-z]+/(.*)$`), '^/last$']);
  let looks = 1;
  while (list.first('/last') === 'undecided' && looks < 50) looks += 1;
  expect(list.first('/last')).toMatchObject({ index: 2000 });
  expect(looks).toBeGreaterThan(1);
});

test('deeper or longer than anybody writes is not read, and does no harm', () => {
  for (const source of [
    `${'('.repeat(990)}a${')'.repeat(990)}`,
    `${'(?:'.repeat(300)}a${')*'.repeat(300)}`,
    '[a]'.repeat(660),
    `(${'a|'.repeat(990)}b)`,
  ]) {
    const start = processorMilliseconds();
    regexpList([source]).first('a'.repeat(1000));
    expect(processorMilliseconds() - start).toBeLessThan(millisecondsMax);
  }
});

test('a list decides nothing from where it cannot be read', () => {
  const list = regexpList(['^/a$', '(unclosed', '^/b$']);
  expect(list.first('/a')).toMatchObject({ index: 0 });
  expect(list.first('/b')).toBe('undecided');
  expect(regexpList(['(unclosed', '^/b$'], 'passed over').first('/b')).toMatchObject({ index: 1 });
  expect(readRegexp('a'.repeat(5000))).toBeUndefined();
});

test('other work goes on while hostile expressions are asked again and again', () => {
  const list = regexpList(['^(a+)+$']);
  const subject = `${'a'.repeat(3000)}!`;
  const until = processorMilliseconds() + 1000;
  let looks = 0;
  let longest = 0;
  while (processorMilliseconds() < until) {
    const start = processorMilliseconds();
    list.first(subject);
    longest = Math.max(longest, processorMilliseconds() - start);
    looks += 1;
  }
  expect(looks).toBeGreaterThan(1000);
  expect(longest).toBeLessThan(millisecondsMax);
});
