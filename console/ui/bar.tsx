/** The bar on every page: where one is, and who one is. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useChanges } from '../api/events.ts';
import { linkOf } from '../api/link.ts';
import { meQuery } from '../api/queries.ts';
import type { User } from '../api/resources.ts';
import { signOut } from '../session/session.ts';
import { AppearanceMenu } from './appearance.tsx';
import { Avatar } from './avatar.tsx';
import { Brand } from './icon.tsx';
import { Menu } from './menu.tsx';
import { personName } from './person-name.ts';
import { Search } from './search.tsx';

/** The crumbs are links in the order of the tree: organization, project, environment. */
export function Bar({ crumbs }: { crumbs?: readonly ReactNode[] }) {
  const { data: me } = useQuery(meQuery());
  useChanges();
  return (
    <>
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="bar">
        <Link className="brand" to="/" aria-label="Offshoot, all projects">
          <Brand />
        </Link>
        <nav className="crumbs" aria-label="Where you are">
          <ol>
            {crumbs?.map((crumb, n) => (
              <li key={n}>{crumb}</li>
            ))}
          </ol>
        </nav>
        <div className="bar-end">
          <Search />
          <AppearanceMenu />
          {me && <PersonMenu me={me} />}
        </div>
      </header>
    </>
  );
}

const PersonMenu = ({ me }: { me: User }) => (
  <Menu label="Your account" handle={<Avatar name={personName(me)} picture={me.picture} />} handleClass="icon-button">
    <li className="what">
      {personName(me)}
      <br />
      {me.email}
    </li>
    <li>
      <Link to="/account">Profile</Link>
    </li>
    <li>
      <Link to="/account/api-tokens">API tokens</Link>
    </li>
    {linkOf(me, 'tickets') && (
      <li>
        <Link to="/support">Support</Link>
      </li>
    )}
    {linkOf(me, 'installation') && (
      <li>
        <Link to="/installation">Installation</Link>
      </li>
    )}
    <li className="rule" />
    <li>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </li>
  </Menu>
);
