/** Who a person is to the platform, and how the console looks to them. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { meQuery } from '../../api/queries.ts';
import type { User } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { AppearanceFields } from '../../ui/appearance.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { personName } from '../../ui/person-name.ts';
import { useTitle } from '../page.tsx';
import { Picture } from './picture.tsx';

export function ProfilePage() {
  const { data: me } = useQuery(meQuery());
  useTitle('Your account');
  if (!me) return undefined;
  return (
    <>
      <Profile me={me} />
      <section className="section" aria-label="Appearance">
        <div className="section-head">
          <h2>Appearance</h2>
          <span className="quiet">Kept in this browser, because it is about this screen.</span>
        </div>
        <AppearanceFields />
      </section>
    </>
  );
}

function Profile({ me }: { me: User }) {
  const queries = useQueryClient();
  const changed = () => void queries.invalidateQueries({ queryKey: ['me'] });
  return (
    <>
      <div className="section-head">
        <h2>Profile</h2>
        <span className="push">
          <DeedButton
            resource={me}
            rel="update"
            verb="Change"
            label="Change your profile"
            asks={['first_name', 'last_name', 'username', 'company', 'website', 'country']}
            current={{ ...me }}
            onDone={changed}
          />
        </span>
      </div>
      <dl className="facts">
        <dt>Picture</dt>
        <dd>
          <Picture me={me} onChange={changed} />
        </dd>
        <dt>Name</dt>
        <dd>{personName(me)}</dd>
        <dt>Username</dt>
        <dd className="mono">{me.username}</dd>
        <dt>Company</dt>
        <dd>{me.company || <span className="quiet">none</span>}</dd>
        <dt>Website</dt>
        <dd>{me.website ? <a href={me.website}>{me.website}</a> : <span className="quiet">none</span>}</dd>
        <dt>Country</dt>
        <dd>{me.country ? countryName(me.country) : <span className="quiet">not told</span>}</dd>
        <dt>Here</dt>
        <dd>
          since <Age of={me.created_at} />
        </dd>
        <dt>User id</dt>
        <dd className="row">
          <code>{me.id}</code>
          <CopyButton text={me.id} label="Copy your id" />
        </dd>
      </dl>
    </>
  );
}

const countryNames = new Intl.DisplayNames(undefined, { type: 'region' });
const countryName = (code: string) => countryNames.of(code) ?? code;
