import { correction, generate } from 'lean-qr';
import { toPngDataURL } from 'lean-qr/extras/node_export';

const issuer = 'Offshoot';
const modulePixels = 6;
const black: [number, number, number] = [0, 0, 0];
const white: [number, number, number] = [255, 255, 255];

/** The picture that an authenticator app scans, as a data URI. It holds a Key URI, the format that all such apps understand. */
export function authenticatorQrCode(accountName: string, secret: string): string {
  const label = `${issuer}:${encodeURIComponent(accountName)}`;
  const code = generate(`otpauth://totp/${label}?secret=${secret}&issuer=${issuer}`, { minCorrectionLevel: correction.M });
  return toPngDataURL(code, { on: black, off: white, scale: modulePixels });
}
