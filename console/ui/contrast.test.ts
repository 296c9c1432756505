import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const css = readFileSync(join(import.meta.dirname, 'tokens.css'), 'utf8');

type Mode = 'light' | 'dark';
type Colours = Record<string, Record<Mode, string>>;

const pairsIn = (text: string): Colours =>
  Object.fromEntries(
    [...text.matchAll(/--([\w-]+):\s*light-dark\((#\w{6}),\s*(#\w{6})\)/g)].map(([, name = '', light = '', dark = '']) => [
      name,
      { light, dark },
    ]),
  );
const [plain = '', ...others] = css.split(/:root\[data-contrast=['"]more['"]\] \{/);
const [chosen = '', system = ''] = others.join('').split('@media (prefers-contrast: more)');
const normal = pairsIn(plain);
const more = { ...normal, ...pairsIn(chosen) };

const linear = (byte: number) => (byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
const luminance = (hex: string) =>
  [0.2126, 0.7152, 0.0722].reduce((sum, weight, n) => sum + weight * linear(Number.parseInt(hex.slice(1 + 2 * n, 3 + 2 * n), 16)), 0);
const ratio = (one: string, other: string) => {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
};

const grounds = ['ground', 'ground-sunken', 'ground-raised', 'ground-hover', 'ground-selected', 'ground-code'];
const statuses = ['active', 'building', 'sleeping', 'paused', 'failed', 'inactive'];
const words = 4.5;
const graphics = 3;

/** What stands on what, and how much contrast it needs (WCAG 2.1 AA). */
const rules: readonly (readonly [name: string, behind: readonly string[], minimum: number])[] = [
  ...['ink', 'ink-quiet', 'leaf', 'danger'].map((name) => [name, grounds, words] as const),
  ['leaf', ['leaf-soft'], words],
  ['ink', ['leaf-soft', ...statuses.map((name) => `${name}-soft`)], words],
  ['ink-on-fill', ['leaf', 'leaf-hover', 'danger', 'danger-hover', 'building', 'ink'], words],
  ...statuses.map((name) => [name, [`${name}-soft`, ...grounds], words] as const),
  ...['red', 'green', 'yellow', 'blue', 'magenta', 'cyan'].map((name) => [`ansi-${name}`, ['ground-code', 'ground-hover'], words] as const),
  ['edge-control', ['ground', 'ground-sunken', 'ground-raised'], graphics],
  ['stem', ['ground', 'ground-hover', 'ground-selected'], graphics],
  ['stem-quiet', ['ground', 'ground-hover'], graphics],
  ['focus', grounds, graphics],
  ['meter', ['ground', 'meter-track', 'ground-sunken'], graphics],
  ...['1', '2', '3', '4', '5', '6', 'rest'].map((name) => [`series-${name}`, ['ground'], graphics] as const),
];

const worst = (colours: Colours, mode: Mode, name: string, behind: readonly string[]) =>
  Math.min(...behind.map((each) => ratio(colours[name]?.[mode] ?? '', colours[each]?.[mode] ?? '')));

describe('colours have the contrast that their roles need', () => {
  test.each([
    ['light', normal, 'light'],
    ['dark', normal, 'dark'],
    ['light, with more contrast', more, 'light'],
    ['dark, with more contrast', more, 'dark'],
  ] as const)('%s', (_name, colours, mode) => {
    const low = rules.filter(([name, behind, minimum]) => !(worst(colours, mode, name, behind) >= minimum)).map(([name]) => name);
    expect(low).toEqual([]);
  });

  test('whoever chooses more contrast sees what those see whose system asks for it', () => {
    expect(Object.keys(pairsIn(chosen)).length).toBeGreaterThan(20);
    expect(pairsIn(system)).toEqual(pairsIn(chosen));
  });
});
