/** What commands may know of the installation: what a machine has to have. */
export { ok, type Finding } from './findings.ts';
export { machineChecks, type Check } from './machine-checks.ts';
