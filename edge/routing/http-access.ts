/**
 * Who gets into an environment: `http_access`. Valid credentials get in whatever the addresses say. Without them the first address that matches
 * decides; where none matches, one gets in unless there are users, for then credentials are what is asked for. Empty lists are an open door.
 *
 * `0.0.0.0/0` (what clients make of `any`) is every address, also one of IPv6: a door that is shut for any must not stand open for half the world.
 * An address that cannot be read shuts out nobody and lets nobody in. The lists are read once for each table entry.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { isWithin, readAddress, readNetwork, type Network, type Words } from '../client/addresses.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { page } from '../pages.ts';
import type { HttpAccess } from './table.ts';

interface Door {
  rules: { isAllowed: boolean; network: Network }[];
  /** SHA-256 of `user:password`: all have the same length, so that comparing takes the same time for each. */
  credentials: Buffer[];
}

/** Stands for an address that cannot be read: it is in no network but the one of all addresses. */
const nowhere: Words = [0, 0, 0, 0];
/** `open` needs no look at the request. */
const doors = new WeakMap<HttpAccess, Door | 'open'>();

export function mayEnter(access: HttpAccess, { headers, address }: Pick<Exchange, 'headers' | 'address'>): boolean {
  const door = doorOf(access);
  if (door === 'open') return true;
  const words = readAddress(address) ?? nowhere;
  const rule = door.rules.find(({ network }) => isWithin(words, network));
  if (rule ? rule.isAllowed : door.credentials.length === 0) return true;
  return door.credentials.length > 0 && hasCredentials(door, headers.authorization);
}

/** 401 where credentials would help, else 403. */
export function refusal(access: HttpAccess, exchange: Pick<Exchange, 'headers'>): Reply {
  const door = doorOf(access);
  if (door === 'open' || door.credentials.length === 0) return page('forbidden', exchange);
  const reply = page('unauthorized', exchange);
  return { ...reply, headers: [...reply.headers, ['WWW-Authenticate', 'Basic realm="This site is protected", charset="UTF-8"']] };
}

function doorOf(access: HttpAccess): Door | 'open' {
  const known = doors.get(access);
  if (known !== undefined) return known;
  const door = readDoor(access);
  doors.set(access, door);
  return door;
}

function readDoor({ is_enabled, addresses, basic_auth }: HttpAccess): Door | 'open' {
  if (!is_enabled) return 'open';
  const rules = addresses.flatMap(({ permission, address }) => {
    const network = readNetwork(address);
    return network ? [{ isAllowed: permission === 'allow', network }] : [];
  });
  const credentials = Object.entries(basic_auth).map(([user, password]) => digest(Buffer.from(`${user}:${password}`)));
  return rules.length === 0 && credentials.length === 0 ? 'open' : { rules, credentials };
}

/** All are compared whichever fits, so that the time says nothing about which users there are. */
function hasCredentials({ credentials }: Door, authorization: string | undefined): boolean {
  const [, encoded = ''] = /^basic +([a-z0-9+/_-]+=*) *$/i.exec(authorization ?? '') ?? [];
  if (encoded === '') return false;
  const given = digest(Buffer.from(encoded, 'base64'));
  let found = false;
  for (const expected of credentials) found = timingSafeEqual(expected, given) || found;
  return found;
}

const digest = (bytes: Buffer) => hash('sha256', bytes, 'buffer');
