/** Who has this token may download one document for a while, without signing in: a JSON Web Token of the platform's own. */
import type { Platform } from '../../platform.ts';

type Signer = Pick<Platform, 'config' | 'secrets'>;

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const header = base64url({ alg: 'HS256', typ: 'JWT' });
const audience = 'orders/download';

export const downloadUrl = ({ config, secrets }: Signer, invoiceId: string, seconds: number, now = Date.now()): string => {
  const text = `${header}.${base64url({ aud: audience, sub: invoiceId, exp: Math.floor(now / 1000) + seconds })}`;
  return `${config.url}/orders/download?token=${text}.${secrets.sign(text)}`;
};

const apiLinkSeconds = 3600;

/** As replies of the API show it: whoever needs it later asks again. */
export const apiDownloadUrl = (signer: Signer, invoiceId: string): string => downloadUrl(signer, invoiceId, apiLinkSeconds);

/** The invoice that the token is for; undefined where it is none of ours, or too old. */
export function invoiceOfToken(secrets: Platform['secrets'], token: string, now = Date.now()): string | undefined {
  const [head = '', body = '', signature = ''] = token.split('.');
  if (head !== header || !secrets.isSigned(`${head}.${body}`, signature)) return undefined;
  const { aud, sub, exp } = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
  return aud === audience && typeof sub === 'string' && typeof exp === 'number' && exp > now / 1000 ? sub : undefined;
}
