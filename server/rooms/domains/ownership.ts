/** How people prove that a registered name is theirs: by a TXT record, or by a page of its web server. The text to put there follows from the name and the project. */
import type { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { refusedField } from './refusals.ts';

const pagePath = '/.well-known/offshoot-verification';
const recordName = (registered: string) => `_offshoot-challenge.${registered}`;
const recordValue = (proof: string) => `offshoot-verification=${proof}`;

const proofOf = ({ secrets }: Pick<Platform, 'secrets'>, projectId: string, registered: string) =>
  secrets.sign(`domain ${registered} of project ${projectId}`);

export async function isProven(
  platform: Pick<Platform, 'secrets' | 'domainProofs'>,
  projectId: string,
  registered: string,
): Promise<boolean> {
  const proof = proofOf(platform, projectId, registered);
  const { hasText, hasPage } = platform.domainProofs;
  const [inDns, overHttp] = await Promise.all([hasText(recordName(registered), recordValue(proof)), hasPage(registered, pagePath, proof)]);
  return inDns || overHttp;
}

export function refusedProof(platform: Pick<Platform, 'secrets'>, projectId: string, registered: string): Problem {
  const proof = proofOf(platform, projectId, registered);
  return refusedField(
    'name',
    `is in ${registered}, which has to be proven to be yours. Set the TXT record ${recordName(registered)} to "${recordValue(proof)}", ` +
      `or answer http://${registered}${pagePath} with ${proof}, and try again`,
  );
}
