/** What the edge is told once, by a file that whoever starts it writes. All else it is told by the control socket. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fields, list, oneOf, parserOf, text, textLike, wholeNumber } from '../routing/schema.ts';

export interface EdgeSettings {
  /** The version of the program and of these settings. Whoever asks for the status is told, and can see whether it is the one they want. */
  version: string;
  /** Holds the table, the control socket and what the edge has to say. */
  folder: string;
  /** Holds `<cluster>/<app>/access.log`. */
  logs: string;
  /** In the order of the descriptors that they are listened on with: 3, 4, … */
  listeners: ListenAddress[];
  /** How many processes serve requests, side by side on the same ports. */
  processes: number;
  /** Addresses or ranges whose forwarding headers are believed. */
  trusted_proxies: string[];
  router_name: string;
}

export interface ListenAddress {
  host: string;
  port: number;
  scheme: 'http' | 'https';
}

const processesMax = 64;
const listenersMax = 16;
const trustedProxiesMax = 1000;
const wordCharactersMax = 256;
const word = text(wordCharactersMax);
const path = textLike(/^\/[^\0\n]*$/, 4096, 'a path that begins with a slash');

const parseSettings = parserOf(
  fields<EdgeSettings>({
    version: word,
    folder: path,
    logs: path,
    listeners: list(fields<ListenAddress>({ host: word, port: wholeNumber(1, 65_535), scheme: oneOf('http', 'https') }), listenersMax),
    processes: wholeNumber(1, processesMax),
    trusted_proxies: list(word, trustedProxiesMax),
    router_name: textLike(/^[\x20-\x7e]*$/, wordCharactersMax, 'the value of a header'),
  }),
  'The settings',
);

export const readSettings = (file: string): EdgeSettings => parseSettings(JSON.parse(readFileSync(file, 'utf8')));

/** A process that is to end lets requests finish for so long; connections that were taken over (WebSockets) end with it. */
export const drainSecondsMax = 300;

/** Whoever started the edge left it the listening sockets, from this descriptor on. */
export const firstDescriptor = 3;

export const controlSocketOf = (folder: string) => join(folder, 'control.sock');
export const certificateFolderOf = (folder: string) => join(folder, 'certificates');
export const tableFolderOf = (folder: string) => join(folder, 'table');
/** Tells the guard which main process serves now: its number and its program, a word on each line. */
export const mainProcessFileOf = (folder: string) => join(folder, 'main-process');
