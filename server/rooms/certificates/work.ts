/** What others have done about certificates: read one with its key, keep one that people gave, forget those of a project, look again when hosts have changed, and change the keys of accounts. */
export { changeAccountKeys, type ChangedKey } from './change-account-keys.ts';
export { forgetCertificates, keepCertificate } from './keep-certificate.ts';
export { keepCertificates, tellCertificates } from './reconcilers.ts';
export { keepIssued, presentedCertificate, setServes, type PresentedCertificate } from './queries.ts';
