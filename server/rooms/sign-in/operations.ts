import { Type } from 'typebox';
import { parsePublicKey } from '../../drivers/ssh/public-key.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { invalidField } from '../../kernel/problem.ts';
import { closed } from '../../kernel/schema.ts';
import { authorityLine, certify } from './ssh-certificate.ts';

export const createSshCertificate = operation({
  summary: 'Certify an SSH key for an hour',
  endpoint: 'POST /ssh',
  changesNothing: true,
  permission: 'signed-in',
  body: closed({ key: Type.String({ maxLength: 10_000, description: 'A public key, as in id_ed25519.pub.' }) }),
  example: { key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKxEv0ap2dF1bMTAZ0QCOiJyk2P8sFxXUvVR3V0zlfAq ada@example.org' },
  returns: plain(Type.Object({ certificate: Type.String() })),
  async handle({ caller, body }, { keys }) {
    const key = parsePublicKey(body.key);
    if (!key) throw invalidField('key', 'must be an SSH public key: Ed25519, ECDSA, or RSA of at least 2048 bits');
    return Promise.resolve({
      certificate: certify(
        key,
        { sub: caller.id, via: caller.via, generation: caller.user.token_generation, ...(caller.amr && { amr: caller.amr }) },
        keys.sshAuthority,
      ),
    });
  },
});

export const listSshAuthorities = operation({
  summary: 'List the authorities that sign SSH certificates',
  endpoint: 'GET /ssh/authority',
  permission: 'public',
  returns: plain(Type.Object({ authorities: Type.Array(Type.String()) })),
  handle: (_request, { keys }) => Promise.resolve({ authorities: [authorityLine(keys.sshAuthority)] }),
});
