/** The head of a request, read once: what decides where it goes, what is remembered of it, and the lines that go on to the application. */
import { headerName, isPassedOn, isPlainConnection, namedByConnection } from './header-names.ts';
import type { RequestHead } from './request-parser.ts';
import { takeSticky } from '../upstream/sticky-cookie.ts';
import { readTarget, type RequestTarget } from './request-target.ts';

export interface ReadHead extends RequestTarget {
  /** Lines for the application, each with its end; without those that the edge tells. */
  passed: string;
  userAgent: string;
  /** The mark of the instance that the client's cookie names. */
  stickyTo: string | undefined;
  referer: string;
  /** Undefined: no length was told. */
  contentLength: number | undefined;
  isChunked: boolean;
  expectsContinue: boolean;
  upgrade: string | undefined;
}

/** Undefined: the request deserves nothing but 400. The parser has refused worse ones before. */
export function readHead({ method, target, headers, major, minor }: RequestHead): ReadHead | undefined {
  if (major !== 1) return undefined;
  let [host, connection, userAgent, referer, stickyTo]: (string | undefined)[] = [];
  let [contentLength, isChunked, expectsContinue, upgrade]: [number?, boolean?, boolean?, string?] = [];
  let passed = '';
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? '';
    const value = headers[index + 1] ?? '';
    switch (headerName(name).inRequest) {
      case 'end-to-end':
        passed += `${name}: ${value}\r\n`;
        break;
      case 'host':
        if (host !== undefined) return undefined;
        host = value;
        break;
      case 'connection':
        connection = connection === undefined ? value : `${connection},${value}`;
        break;
      case 'content-length':
        if (contentLength !== undefined || isChunked || !/^\d{1,15}$/.test(value)) return undefined;
        contentLength = Number(value);
        break;
      case 'transfer-encoding':
        if (isChunked || contentLength !== undefined || value.toLowerCase() !== 'chunked' || minor === 0) return undefined;
        isChunked = true;
        break;
      case 'expect':
        if (value.toLowerCase() !== '100-continue') return undefined;
        expectsContinue = minor === 1;
        break;
      case 'upgrade':
        upgrade = value;
        break;
      case 'user-agent':
        userAgent ??= value;
        passed += `${name}: ${value}\r\n`;
        break;
      case 'cookie': {
        const taken = takeSticky(value);
        if (taken) {
          stickyTo ??= taken.mark;
          if (taken.rest === '') headers.splice(index, 2);
          else headers[index + 1] = taken.rest;
          index -= 2;
        } else passed += `${name}: ${value}\r\n`;
        break;
      }
      case 'referer':
        referer ??= value;
        passed += `${name}: ${value}\r\n`;
        break;
      case 'hop-by-hop':
      case 'told-by-edge':
        break;
      case 'invalid':
        return undefined;
    }
  }
  if (host === undefined && minor === 1) return undefined;
  const requestTarget = readTarget(method, target, host ?? '');
  if (!requestTarget) return undefined;
  if (connection !== undefined && !isPlainConnection(connection)) passed = without(headers, namedByConnection(connection));
  return {
    ...requestTarget,
    passed,
    userAgent: userAgent ?? '',
    stickyTo,
    referer: referer ?? '',
    contentLength,
    isChunked: isChunked === true,
    expectsContinue: expectsContinue === true,
    upgrade,
  };
}

/** `h2c` would hide a second protocol from the edge; a body before the change of protocol is asking for confusion. */
export function passableUpgrade({ upgrade, contentLength, isChunked }: ReadHead): string | undefined {
  if (upgrade === undefined || isChunked || (contentLength ?? 0) > 0 || !/^[\w./-]+$/.test(upgrade) || /^h2/i.test(upgrade))
    return undefined;
  return upgrade;
}

function without(headers: string[], names: Set<string>): string {
  let passed = '';
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? '';
    const { lower, inRequest } = headerName(name);
    if (isPassedOn(inRequest) && !names.has(lower)) passed += `${name}: ${headers[index + 1] ?? ''}\r\n`;
  }
  return passed;
}

/** As the parts of the edge want them: names in lower case, repeated values joined. */
export function headersByName(headers: readonly string[]): Record<string, string | undefined> {
  const byName: Record<string, string | undefined> = Object.create(null);
  for (let index = 0; index < headers.length; index += 2) {
    const { lower } = headerName(headers[index] ?? '');
    const value = headers[index + 1] ?? '';
    const before = byName[lower];
    byName[lower] = before === undefined ? value : `${before}${lower === 'cookie' ? '; ' : ', '}${value}`;
  }
  return byName;
}
