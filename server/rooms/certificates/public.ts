/** What other rooms may know of certificates, and the authority of the installation, which the platform is opened with. */
export { isFor } from './own-names.ts';
export { Chain, checkedCertificate, Pem, type GivenCertificate } from './given-certificate.ts';
export { authorityCertificate, openOwnAuthority } from './own-authority.ts';
export { refusedFields } from './refusals.ts';
