/** A browser sign-in that is under way, as our steps and the way over another identity provider both know it. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errors, type Interaction, type InteractionResults, type Provider } from 'oidc-provider';
import type { Platform } from '../../platform.ts';
import { rememberBrowser, type KnownBrowser } from './known-browser.ts';

/** The sign-in of this address, which has to be the browser's own: that is known from its signed cookie. */
export async function interactionAt(
  provider: Provider,
  request: FastifyRequest<{ Params: { uid: string } }>,
  reply: FastifyReply,
): Promise<Interaction> {
  const interaction = await provider.interactionDetails(request.raw, reply.raw);
  if (interaction.uid !== request.params.uid) throw new errors.SessionNotFound('another sign-in');
  return interaction;
}

/** A parameter of the request that began the sign-in. */
export const asked = ({ params }: Interaction, name: string) => (typeof params[name] === 'string' ? params[name] : '');

/** Ends the browser's session, so that the sign-in goes on as if nobody had been signed in. */
export async function leaveSession(provider: Provider, interaction: Interaction) {
  const session = await provider.Session.findByUid(interaction.session?.uid ?? '');
  await session?.destroy();
  delete interaction.session;
}

/** How the sign-in goes on once somebody proved who they are, by whatever is named (`amr`). */
export async function loginAs(provider: Provider, interaction: Interaction, userId: string, amr: string[]): Promise<InteractionResults> {
  if (interaction.session && interaction.session.accountId !== userId) await leaveSession(provider, interaction);
  return { login: { accountId: userId, amr, ts: Math.floor(Date.now() / 1000) } };
}

/** What a step ended with, and who is signed in completely by it. */
export interface Finished {
  result: InteractionResults;
  signedIn?: string;
}

export async function goOn(
  { interaction, browser }: { interaction: Interaction; browser: KnownBrowser | undefined },
  { result, signedIn }: Finished,
  reply: FastifyReply,
  platform: Platform,
) {
  interaction.result = { ...(result.error === undefined && interaction.lastSubmission), ...result };
  await interaction.persist();
  if (signedIn !== undefined && browser?.userId !== signedIn) rememberBrowser(reply, platform, signedIn);
  return reply.redirect(new URL(interaction.returnTo).pathname, 303);
}
