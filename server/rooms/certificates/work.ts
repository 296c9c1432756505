/** What other rooms have done about certificates: keep one that people gave, forget those of a project, and look again when hosts have changed. */
export { forgetCertificates, keepCertificate } from './keep-certificate.ts';
export { keepCertificates, tellCertificates } from './reconcilers.ts';
