/**
 * Certificates as the edge keeps them, for its processes that start later: a file for each, sealed with a key that no disk knows (edge-secret.ts). What
 * cannot be opened, as after the machine was started anew, is removed; the control plane sends it again.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseCertificate, type EdgeCertificate } from './certificate.ts';

export interface CertificateFolder {
  load(): EdgeCertificate[];
  write(certificate: EdgeCertificate): Promise<void>;
  remove(id: string): Promise<void>;
}

const extension = '.sealed';
const [nonceBytes, tagBytes] = [12, 16];

export function openCertificateFolder(folder: string, key: Buffer): CertificateFolder {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fileOf = (id: string) => join(folder, `${id}${extension}`);
  let writes = 0;

  const read = (file: string): EdgeCertificate | undefined => {
    try {
      return parseCertificate(JSON.parse(opened(readFileSync(file), key)));
    } catch {
      rmSync(file, { force: true });
      return undefined;
    }
  };

  return {
    load: () => readdirSync(folder).flatMap((name) => read(join(folder, name)) ?? []),
    async write(certificate) {
      const scratch = `${fileOf(certificate.id)}.${process.pid}.${writes++}.new`;
      await writeFile(scratch, sealed(JSON.stringify(certificate), key), { mode: 0o600 });
      await rename(scratch, fileOf(certificate.id));
    },
    remove: (id) => rm(fileOf(id), { force: true }),
  };
}

function sealed(text: string, key: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

/** Throws where the bytes were sealed with another key, or changed since. */
function opened(bytes: Buffer, key: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
}
