import { Type } from 'typebox';
import { array, created, deleted, one, operation, plain, updated } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { closed, nullable } from '../../kernel/schema.ts';
import { ProjectEntity } from '../projects/public.ts';
import { CertificateEntity, certificatesOf } from './certificate.ts';
import { Chain, checkedCertificate, Pem } from './given-certificate.ts';
import { addCertificate, changeCertificate, removeCertificate } from './keep-certificate.ts';
import { changeProvisioner, provisionerOf, ProvisionerEntity } from './provisioner.ts';

const Invalid = Type.Boolean({ description: 'Whether it is kept without being presented to anybody.' });
const comesByItself = new Problem(
  'forbidden',
  'This certificate came by itself, and is replaced and removed by itself; it cannot be changed.',
);

/** An addition of ours: pages that show commands to people say whom their programs have to trust. */
export const getAuthority = operation({
  summary: 'Get the authority that signs for the installation itself',
  endpoint: 'GET /authority',
  permission: 'signed-in',
  returns: plain(
    closed({
      certificate: nullable(
        Type.String({
          description: 'PEM. Null where somebody in front of the installation ends TLS, or nobody does: programs trust whom they trust.',
        }),
      ),
    }),
  ),
  handle: async (_request, { config, authority }) => ({ certificate: config.tls ? authority.certificate : null }),
});

export const listCertificates = operation({
  summary: 'List the certificates of a project',
  endpoint: 'GET /projects/{projectId}/certificates',
  on: ProjectEntity,
  rel: 'certificates',
  permission: 'certificate:view',
  returns: array(CertificateEntity),
  handle: ({ target }, { db }) => certificatesOf(db, target.id),
});

export const createCertificate = operation({
  summary: 'Give a project a certificate with its key, for the domains that it names',
  endpoint: 'POST /projects/{projectId}/certificates',
  on: ProjectEntity,
  rel: '#manage-certificates',
  permission: 'certificate:manage',
  body: closed({ certificate: Pem, key: Pem, chain: Type.Optional(Chain), is_invalid: Type.Optional(Invalid) }),
  returns: created(CertificateEntity),
  handle: async ({ target, body: { certificate, key, chain = [], is_invalid = false } }, platform) =>
    addCertificate(platform, target.id, checkedCertificate({ certificate, key, chain }), is_invalid),
});

export const getCertificate = operation({
  summary: 'Get a certificate, without its key',
  endpoint: 'GET /projects/{projectId}/certificates/{certificateId}',
  on: CertificateEntity,
  permission: 'certificate:view',
  returns: one(CertificateEntity),
  handle: async ({ target }) => target,
});

export const updateCertificate = operation({
  summary: 'Give a certificate another chain, or present it to nobody',
  endpoint: 'PATCH /projects/{projectId}/certificates/{certificateId}',
  on: CertificateEntity,
  rel: '#edit',
  permission: 'certificate:manage',
  allowedWhen: ({ is_provisioned }) => !is_provisioned,
  otherwise: comesByItself,
  body: closed({ chain: Type.Optional(Chain), is_invalid: Type.Optional(Invalid) }),
  example: { is_invalid: true },
  returns: updated(CertificateEntity),
  handle: ({ target, body }, platform) => changeCertificate(platform, target, body),
});

export const deleteCertificate = operation({
  summary: 'Delete a certificate that somebody gave; its domains get automatic ones',
  endpoint: 'DELETE /projects/{projectId}/certificates/{certificateId}',
  on: CertificateEntity,
  rel: '#delete',
  permission: 'certificate:manage',
  allowedWhen: ({ is_provisioned }) => !is_provisioned,
  otherwise: comesByItself,
  returns: deleted,
  handle: ({ target }, platform) => removeCertificate(platform, target),
});

export const listProvisioners = operation({
  summary: 'List where the automatic certificates of a project come from',
  endpoint: 'GET /projects/{projectId}/provisioners',
  on: ProjectEntity,
  rel: 'provisioners',
  permission: 'certificate:view',
  returns: array(ProvisionerEntity),
  handle: async ({ target }, { db, config }) => [(await provisionerOf(db, config, target.id)) ?? []].flat(),
});

export const getProvisioner = operation({
  summary: 'Get where automatic certificates come from',
  endpoint: 'GET /projects/{projectId}/provisioners/{certificateProvisionerDocumentId}',
  on: ProvisionerEntity,
  permission: 'certificate:view',
  returns: one(ProvisionerEntity),
  handle: async ({ target }) => target,
});

export const updateProvisioner = operation({
  summary: 'Have automatic certificates from another authority',
  endpoint: 'PATCH /projects/{projectId}/provisioners/{certificateProvisionerDocumentId}',
  on: ProvisionerEntity,
  rel: '#edit',
  permission: 'certificate:manage',
  body: closed({
    directory_url: Type.Optional(
      Type.String({ maxLength: 500, description: 'The directory (ACME); empty for the one that the installation has.' }),
    ),
    email: Type.Optional(Type.String({ maxLength: 254, pattern: '^([^\\s@"<>]+@[^\\s@"<>]+)?$' })),
    eab_kid: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 500 }))),
    eab_hmac_key: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 500 }))),
  }),
  example: { directory_url: 'https://acme.example.org/directory', email: 'certificates@example.org' },
  returns: updated(ProvisionerEntity),
  handle: ({ target, body }, platform) => changeProvisioner(platform, target, body),
});
