/**
 * Browsers that somebody has signed in with before, known by a signed cookie. Attempts from one count for it alone, so a stranger who guesses
 * at an account, or from the same address, does not shut its owner out. The cookie proves nothing else: whoever has it still needs the password,
 * and the passcode where there is one.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomSecret } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';

export interface KnownBrowser {
  /** The user who signed in with the browser last. */
  userId: string;
  /** A random id of this browser alone. */
  id: string;
}

const cookieName = 'offshoot_browser';
const rememberedSeconds = 365 * 24 * 60 * 60;
const idBytes = 16;
const cookiePattern = new RegExp(`(?:^|;\\s*)${cookieName}=([0-9a-f-]{36})\\.([\\w-]{20,30})\\.([\\w-]{43})(?:;|$)`);

/** The browser that sent the request; undefined when nobody has signed in with it yet, or when we did not sign its cookie. */
export function knownBrowserOf({ headers }: FastifyRequest, { secrets }: Platform): KnownBrowser | undefined {
  const [, userId = '', id = '', signature = ''] = cookiePattern.exec(headers.cookie ?? '') ?? [];
  return signature !== '' && secrets.isSigned(purposeOf(userId, id), signature) ? { userId, id } : undefined;
}

/** Call this only after a complete sign-in, second factor included: knowing the password alone does not make a browser known. */
export function rememberBrowser(reply: FastifyReply, { secrets, config }: Platform, userId: string): void {
  const id = randomSecret(idBytes);
  const value = `${userId}.${id}.${secrets.sign(purposeOf(userId, id))}`;
  const secure = config.url.startsWith('https:') ? '; secure' : '';
  reply.header('set-cookie', `${cookieName}=${value}; path=/; max-age=${rememberedSeconds}; samesite=lax${secure}; httponly`);
}

const purposeOf = (userId: string, id: string) => `known browser ${userId} ${id}`;
