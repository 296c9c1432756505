/** The buttons of an environment: one for each link that the API offers, and for each that it says is missing just now. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { linkOf, reasonAgainst } from '../api/link.ts';
import type { Environment } from '../api/resources.ts';
import { useProjectChanged } from '../api/use-project-changed.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import { environmentDeeds, type DeedLook } from './deeds.ts';
import { toldOf } from './environment-effects.tsx';
import { LinkForm } from './link-form.tsx';
import { NotNowButton, NotNowItem } from './not-now-button.tsx';

export interface Offer {
  rel: string;
  look: DeedLook;
}

export const offersOf = (environment: Environment): Offer[] =>
  Object.entries(environmentDeeds)
    .filter(([rel]) => linkOf(environment, rel) !== undefined)
    .map(([rel, look]) => ({ rel, look }));

/** What could be done at another time, and why it cannot be now. */
interface Missing extends Offer {
  reason: string;
}

const missingOf = (environment: Environment): Missing[] =>
  Object.entries(environmentDeeds).flatMap(([rel, look]) => {
    const reason = look.isOccasional ? undefined : reasonAgainst(environment, rel);
    return reason === undefined ? [] : [{ rel, look, reason }];
  });

const isMissing = (offer: Offer | Missing): offer is Missing => 'reason' in offer;

/** In the order of the table, so that a button does not move when it becomes possible. */
const inOrder = (offers: readonly Offer[]) => {
  const order = Object.keys(environmentDeeds);
  return offers.toSorted((one, other) => order.indexOf(one.rel) - order.indexOf(other.rel));
};

interface Actions {
  project: string;
  environment: Environment;
}

/** In a row of the tree, everything is in the menu. */
export function EnvironmentMenu({ project, environment }: Actions) {
  const [asked, setAsked] = useState<Offer>();
  const offers = offersOf(environment);
  if (offers.length === 0) return undefined;
  return (
    <>
      <OfferMenu environment={environment} offers={offers} onAsk={setAsked} handleClass="icon-button tiny" />
      {asked && <DeedDialog project={project} environment={environment} offer={asked} onClose={() => setAsked(undefined)} />}
    </>
  );
}

/** On its own page, what is done most often has a button. */
export function EnvironmentButtons({ project, environment }: Actions) {
  const [asked, setAsked] = useState<Offer>();
  const offers = inOrder([...offersOf(environment), ...missingOf(environment)]);
  const [prominent, others] = [offers.filter(({ look }) => look.isProminent), offers.filter(({ look }) => !look.isProminent)];
  return (
    <>
      {prominent.map((offer) =>
        isMissing(offer) ? (
          <NotNowButton key={offer.rel} reason={offer.reason} verb={offer.look.verb} icon={offer.look.icon} look="button" />
        ) : (
          <button key={offer.rel} type="button" className="button" onClick={() => setAsked(offer)}>
            <Icon name={offer.look.icon} />
            {offer.look.verb}
          </button>
        ),
      )}
      {others.length > 0 && <OfferMenu environment={environment} offers={others} onAsk={setAsked} handleClass="button" />}
      {asked && <DeedDialog project={project} environment={environment} offer={asked} onClose={() => setAsked(undefined)} />}
    </>
  );
}

interface OfferMenuProps {
  environment: Environment;
  offers: readonly Offer[];
  onAsk(offer: Offer): void;
  handleClass: string;
}

const OfferMenu = ({ environment, offers, onAsk, handleClass }: OfferMenuProps) => (
  <Menu label={`Actions for ${environment.id}`} handle={<Icon name="more" />} handleClass={handleClass}>
    {offers.map((offer) => (
      <li key={offer.rel}>
        {isMissing(offer) ? (
          <NotNowItem reason={offer.reason} verb={offer.look.verb} icon={offer.look.icon} />
        ) : (
          <button type="button" className={offer.look.isDangerous ? 'danger' : undefined} onClick={() => onAsk(offer)}>
            <Icon name={offer.look.icon} />
            {offer.look.verb}
          </button>
        )}
      </li>
    ))}
  </Menu>
);

interface DeedDialogProps extends Actions {
  offer: Offer;
  onClose(): void;
}

/** After the deed one is where it can be watched: at the new environment, or at this one. */
export function DeedDialog({ project, environment, offer: { rel, look }, onClose }: DeedDialogProps) {
  const changed = useProjectChanged(project);
  const navigate = useNavigate();
  const link = linkOf(environment, rel);
  if (!link) return undefined;
  const done = (result: unknown) => {
    onClose();
    changed();
    const to = rel === '#branch' ? environmentOf(result) : environment.id;
    if (rel === '#delete' || to === undefined) void navigate({ to: '/projects/$project', params: { project } });
    else void navigate({ to: '/projects/$project/environments/$environment', params: { project, environment: to } });
  };
  const told = toldOf(rel, environment);
  return (
    <Dialog
      title={
        <>
          {look.verb} <code>{environment.id}</code>
        </>
      }
      isWide={told?.({}).drawing !== undefined}
      onClose={onClose}
    >
      <LinkForm link={link} verb={look.verb} told={told} name={environment.id} onDone={done} onCancel={onClose} />
    </Dialog>
  );
}

/** The environment that an accepted request tells of: of a new branch, the last one that its activity is about. */
function environmentOf(result: unknown): string | undefined {
  const { activities = [] } = (result as { _embedded?: { activities?: { environments: string[] }[] } })._embedded ?? {};
  return activities[0]?.environments.at(-1);
}
