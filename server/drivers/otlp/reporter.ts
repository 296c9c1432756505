/**
 * Who reports traces: a container of an environment. It shows a token that says so, which is sealed: whoever finds one learns nothing from it, and can do no more
 * with it than report for the same container. The same container gets the same token each time it is described, so that describing it again changes nothing.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Secrets } from '../../kernel/secrets.ts';

const schema = Type.Object({
  project: Type.String(),
  /** The environment's machine name. */
  environment: Type.String(),
  /** What the environment has on the machine, as of its last activation: with another one, the token counts no more. */
  stack: Type.String(),
  application: Type.String(),
  instance: Type.String(),
});

export type Reporter = Static<typeof schema>;

export interface ReporterTokens {
  issue(reporter: Reporter): string;
  /** Undefined: it is none of this installation. */
  read(token: string): Reporter | undefined;
}

const ivBytes = 12;
const tagBytes = 16;
const tokenCharactersMax = 2000;

export function openReporterTokens(secrets: Pick<Secrets, 'derived'>): ReporterTokens {
  const [newest, ...older] = secrets.derived('reporters of traces').map(keysOf);
  if (!newest) throw new Error('At least one secret key is needed');
  return {
    issue: (reporter) => sealed(newest, JSON.stringify(reporter)),
    read: (token) => {
      if (token.length > tokenCharactersMax) return undefined;
      const bytes = Buffer.from(token, 'base64url');
      for (const keys of [newest, ...older]) {
        const text = opened(keys, bytes);
        if (text !== undefined) return Value.Parse(schema, JSON.parse(text));
      }
      return undefined;
    },
  };
}

interface TokenKeys {
  sealing: Buffer;
  choosing: Buffer;
}

const keysOf = (secret: string): TokenKeys => ({ sealing: derivedKey(secret, 'seal'), choosing: derivedKey(secret, 'choose') });
const derivedKey = (secret: string, use: string) => Buffer.from(hkdfSync('sha256', secret, '', use, 32));

/** The initial value is made from the text: equal texts have equal tokens, and different ones never share a value. */
function sealed({ sealing, choosing }: TokenKeys, text: string): string {
  const iv = createHmac('sha256', choosing).update(text).digest().subarray(0, ivBytes);
  const cipher = createCipheriv('aes-256-gcm', sealing, iv);
  return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

function opened({ sealing }: TokenKeys, bytes: Buffer): string | undefined {
  if (bytes.length <= ivBytes + tagBytes) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', sealing, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/** Where containers report, and as whom. */
export interface TracesEndpoint {
  url: string;
  tokens: Pick<ReporterTokens, 'issue'>;
}
