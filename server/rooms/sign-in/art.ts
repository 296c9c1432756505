/** The tree beside the pages for people: the one place where it may be large. It is drawn with attributes alone, so that the content policy of the pages holds. */
import type { Html } from '../../kernel/html.ts';

const stems: readonly (readonly [path: string, width: number])[] = [
  ['M330 930V104', 5],
  ['M330 874C330 825 349 806 398 806H658C700 806 716 790 716 748V350', 3],
  ['M330 784C330 735 311 716 262 716H150C108 716 92 700 92 658V446', 2.5],
  ['M330 682C330 636 348 618 394 618H550C589 618 604 603 604 564V204', 2.5],
  ['M330 590C330 547 313 530 270 530H226C190 530 176 516 176 480V400', 2],
  ['M330 484C330 444 346 428 386 428H454C487 428 500 415 500 382V286', 2],
  ['M330 394C330 364 318 352 288 352C264 352 254 342 254 318V196', 2],
  ['M330 310C330 275 343 262 378 262H380C407 262 418 251 418 224V150', 2],
  ['M716 654C716 622 728 610 760 610C786 610 796 600 796 574V470', 2],
  ['M604 485C604 461 613 452 637 452C655 452 662 445 662 427V372', 2],
  ['M92 675C92 650 82 640 57 640C38 640 30 632 30 613V552', 2],
];

const resting = ['M176 391V268', 'M662 363V320'];

/** Where each is, and how large; those that are mirrored have a negative width. */
const leaves: readonly (readonly [x: number, y: number, width: number, size: number])[] = [
  [330, 104, 3.17, 3.17],
  [716, 350, 2.17, 2.17],
  [92, 446, -2.17, 2.17],
  [604, 204, 2.17, 2.17],
  [500, 286, 2.17, 2.17],
  [254, 196, -2.17, 2.17],
  [418, 150, 2.17, 2.17],
  [796, 470, 1.58, 1.58],
  [30, 552, -1.58, 1.58],
  [330, 580, -1.25, 1.25],
  [330, 300, 1.25, 1.25],
  [716, 500, -1.25, 1.25],
  [604, 330, -1.25, 1.25],
  [330, 186, -1.25, 1.25],
];

/** Leaves of shoots that sleep. */
const folded: typeof leaves = [
  [176, 268, -2.17, 2.17],
  [662, 320, 1.58, 1.58],
];

const leaf = 'M0 0C-.4-6.2 3.4-10.4 10.6-10.6c.2 7-3.6 11-9 10.4z';
const placed = (some: typeof leaves, name: string) =>
  some
    .map(([x, y, width, size]) => `<path class="${name}" transform="translate(${x} ${y}) scale(${width} ${size})" d="${leaf}"/>`)
    .join('');

export const art: Html = {
  html: [
    '<div class="art" aria-hidden="true"><svg viewBox="0 0 860 900" preserveAspectRatio="xMidYMin slice" fill="none">',
    ...stems.map(([path, width]) => `<path class="stem" stroke-width="${width}" d="${path}"/>`),
    ...resting.map((path) => `<path class="stem" stroke-width="2.5" stroke-dasharray="0.1 9" d="${path}"/>`),
    placed(leaves, 'leaf'),
    placed(folded, 'folded'),
    '</svg></div>',
  ].join(''),
};

/** The mark of the product: a stem and a leaf. */
export const mark: Html = {
  html: '<svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" fill="none"><path d="M7 22V2.5" stroke="currentColor" stroke-width="2.6" stroke-linecap="round"/><path d="M7.3 17.5C6.6 10 11.3 5.6 20 5.5c.3 8.3-4.3 12.6-12.7 12z" fill="currentColor"/></svg>',
};
