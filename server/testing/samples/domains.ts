/** Names of projects, and certificates for them. */
import { testCertificate } from '../../drivers/certificates/x509/test-certificates.ts';
import type { Person } from '../platform.ts';
import { fill, type Address } from './addresses.ts';
import { sampleEnvironment, sampleProject } from './projects.ts';

/** Names that no other sample has. */
export const sampleNames = ({ projectId = '' }: Address) => ({
  production: `www.${projectId}.example`,
  elsewhere: `stage.${projectId}.example`,
});

/** Of production. */
export async function sampleDomain(owner: Person) {
  const project = await sampleProject(owner);
  await withProductionDomain(owner, project);
  return { ...project, domainId: sampleNames(project).production };
}

/** Of an environment for staging, in the place of one of production. */
export async function sampleEnvironmentDomain(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const { production, elsewhere } = sampleNames(environment);
  await withProductionDomain(owner, environment);
  const body = { name: elsewhere, replacement_for: production };
  await owner.send('POST', fill('/projects/{projectId}/environments/{environmentId}/domains', environment), body);
  return { ...environment, domainId: elsewhere };
}

export async function withProductionDomain(owner: Person, address: Address) {
  await owner.send('POST', fill('/projects/{projectId}/domains', address), { name: sampleNames(address).production });
}

/** A certificate that has signed itself, with its key. */
export async function sampleCertificate() {
  const { pem, keyPem } = await testCertificate('Sample', { names: ['www.example.org'] });
  return { certificate: pem, key: keyPem };
}
