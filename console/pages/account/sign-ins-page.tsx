/** Where a person is signed in, so that they notice what is not theirs, and end it. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { signInsQuery, type SignIn } from '../../api/account-queries.ts';
import { meQuery } from '../../api/queries.ts';
import type { User } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { actionsColumn, List } from '../list-page.tsx';
import { useTitle } from '../page.tsx';

export function SignInsPage() {
  const { data: me } = useQuery(meQuery());
  useTitle('Sign-ins');
  return me && <SignIns me={me} />;
}

function SignIns({ me }: { me: User }) {
  const queries = useQueryClient();
  const { data: signIns, error } = useQuery(signInsQuery(me));
  const changed = () => void queries.invalidateQueries({ queryKey: ['me', 'sign-ins'] });
  return (
    <List
      title="Sign-ins"
      about="Browsers and programs that act as you. End what you do not know, and change your password."
      button={
        <DeedButton
          resource={me}
          rel="sign-out-elsewhere"
          verb="Sign out elsewhere"
          guard={{ loses: 'All other browsers and programs are signed out at once. API tokens and SSH keys stay.' }}
          onDone={changed}
        />
      }
      rows={signIns}
      error={error}
      columns={signInColumns}
      empty={{ says: 'Nothing is signed in as you: whatever acts as you does so with an API token or an SSH key.' }}
    >
      {(signIn) => <SignInRow key={signIn.id} signIn={signIn} onChange={changed} />}
    </List>
  );
}

export const signInColumns = ['Program', 'Calls itself', 'From', 'Signed in', 'Last used', actionsColumn];

export const SignInRow = ({ signIn, onChange }: { signIn: SignIn; onChange(): void }) => (
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
      {!signIn.is_current && (
        <DeedButton
          resource={signIn}
          rel="delete"
          verb="End"
          label={`End ${signIn.program} from ${signIn.address}`}
          look="button tiny"
          guard={{ loses: 'It is signed out at once, and has to sign in again.' }}
          onDone={onChange}
        />
      )}
    </td>
  </tr>
);

const browsers = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari'] as const;
const systems = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'] as const;

/** Browsers name all their ancestors; the first of these that is named is the one. Others are shown as they call themselves. */
export function browserOf(userAgent: string): string {
  const browser = browsers.find((name) => userAgent.includes(`${name}/`));
  const system = systems.find((name) => userAgent.includes(name));
  if (browser === undefined) return userAgent || 'unknown';
  return `${{ Edg: 'Edge', OPR: 'Opera' }[browser as string] ?? browser}${system === undefined ? '' : ` on ${system}`}`;
}
