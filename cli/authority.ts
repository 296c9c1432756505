/** `./offshoot ca`: the authority of this installation, and how to have programs trust it. The certificate alone is standard output, so that it can be sent to a file. */
import { readConfig, type Config } from '../server/config.ts';
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { authorityCertificate } from '../server/rooms/certificates/public.ts';
import { withDatabase } from './database.ts';

export const showAuthority = () => {
  const config = readConfig(process.env);
  return withDatabase(config, async (db) => {
    const certificate = await authorityOf(db, config);
    if (certificate === undefined)
      throw new Problem(
        'conflict',
        'TLS is ended by somebody in front of this installation (OFFSHOOT_TLS is off): ask them whom to trust.',
      );
    console.log(certificate.trimEnd());
    console.error(instructions(config));
  });
};

/** The certificate that clients have to trust, as PEM; undefined where TLS is not ended here. */
export async function authorityOf(db: Db, config: Config): Promise<string | undefined> {
  if (!config.tls) return undefined;
  const certificate = await authorityCertificate(db, config);
  if (certificate === undefined) throw new Problem('not-found', 'There is no authority for these settings yet; ./offshoot start makes it.');
  return certificate;
}

const file = 'offshoot.crt';

const instructions = ({ url, domain }: Config) => `
This is the authority that signs for ${url} and for all that is below ${domain}. It can sign for no other names, so trusting
it gives away nothing else. To trust it, on each machine that people use (first: ./offshoot ca >${file}):

  Debian, Ubuntu     cp ${file} /usr/local/share/ca-certificates/ && update-ca-certificates
  Fedora             cp ${file} /etc/pki/ca-trust/source/anchors/ && update-ca-trust
  macOS              sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${file}
  Windows            certutil -addstore -f ROOT ${file}
  Firefox, Chromium  in the settings, under certificates: import ${file} as an authority for websites

For one program alone:

  upsun              ./offshoot cli-config
  curl               curl --cacert ${file} ${url}
  Git                git config --global http.${url}/.sslCAInfo "$PWD/${file}"
  Node               NODE_EXTRA_CA_CERTS=${file}
  Python             REQUESTS_CA_BUNDLE=${file}`;
