/** Where a person is signed in, so that they notice what is not theirs, and end it. */
import { useQuery } from '@tanstack/react-query';
import { signInsQuery, type SignIn } from '../../api/account-queries.ts';
import { linkOf } from '../../api/link.ts';
import { meQuery } from '../../api/queries.ts';
import type { User } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Failure, useTitle } from '../page.tsx';
import { EndButton } from './end-button.tsx';

export function SignInsPage() {
  const { data: me } = useQuery(meQuery());
  useTitle('Sign-ins');
  return me && <SignIns me={me} />;
}

function SignIns({ me }: { me: User }) {
  const { data: signIns, error } = useQuery(signInsQuery(me));
  const others = linkOf(me, 'sign-out-elsewhere');
  return (
    <>
      <div className="section-head">
        <p className="quiet">Browsers and programs that act as you. End what you do not know, and change your password.</p>
        {others && (
          <span className="push">
            <EndButton
              link={others}
              list="sign-ins"
              verb="Sign out elsewhere"
              title="Sign out elsewhere"
              consequence="All other browsers and programs are signed out at once. API tokens and SSH keys stay."
              className="button"
            />
          </span>
        )}
      </div>
      {error && <Failure error={error} />}
      {!signIns && !error && <Bones rows={2} height={40} />}
      {signIns && <SignInTable signIns={signIns} />}
    </>
  );
}

const SignInTable = ({ signIns }: { signIns: readonly SignIn[] }) => (
  <table className="table cards">
    <thead>
      <tr>
        <th scope="col">Program</th>
        <th scope="col">Calls itself</th>
        <th scope="col">From</th>
        <th scope="col">Signed in</th>
        <th scope="col">Last used</th>
        <th scope="col">
          <span className="unseen">Actions</span>
        </th>
      </tr>
    </thead>
    <tbody>
      {signIns.map((signIn) => (
        <SignInRow key={signIn.id} signIn={signIn} />
      ))}
    </tbody>
  </table>
);

function SignInRow({ signIn }: { signIn: SignIn }) {
  const end = linkOf(signIn, 'delete');
  return (
    <tr>
      <th scope="row">{signIn.program}</th>
      <td data-label="Calls itself">{browserOf(signIn.user_agent)}</td>
      <td data-label="From" className="mono">
        {signIn.address}
      </td>
      <td data-label="Signed in">
        <Age of={signIn.created_at} ago />
      </td>
      <td data-label="Last used">{signIn.is_current ? 'here, now' : <Age of={signIn.last_used_at} ago />}</td>
      <td className="end">
        {end && !signIn.is_current && (
          <EndButton
            link={end}
            list="sign-ins"
            verb="End"
            title={`End ${signIn.program} from ${signIn.address}`}
            consequence="It is signed out at once, and has to sign in again."
          />
        )}
      </td>
    </tr>
  );
}

const browsers = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari'] as const;
const systems = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'] as const;

/** Browsers name all their ancestors; the first of these that is named is the one. Others are shown as they call themselves. */
function browserOf(userAgent: string): string {
  const browser = browsers.find((name) => userAgent.includes(`${name}/`));
  const system = systems.find((name) => userAgent.includes(name));
  if (browser === undefined) return userAgent || 'unknown';
  return `${{ Edg: 'Edge', OPR: 'Opera' }[browser as string] ?? browser}${system === undefined ? '' : ` on ${system}`}`;
}
