/** What other rooms have done about certificates: keep one that people gave, and look again when hosts have changed. */
export { keepCertificate, type GivenCertificate } from './keep-certificate.ts';
export { keepCertificates, tellCertificates } from './reconcilers.ts';
