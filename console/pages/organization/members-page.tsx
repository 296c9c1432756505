/** Who belongs to an organization, what each may do there, and who is invited. */
import { useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { organizationWords } from '../../actions/deeds.ts';
import { hrefOf } from '../../api/link.ts';
import { invitationsQuery, membersQuery, type Invitation, type Member } from '../../api/organization-queries.ts';
import type { Organization, Person } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Avatar } from '../../ui/avatar.tsx';
import { personNameOrId } from '../../ui/person-name.ts';
import { actionsColumn, curlOf, List } from '../list-page.tsx';
import { OrganizationThings } from './organization-things.tsx';

export const MembersPage = () => (
  <OrganizationThings title="Members">
    {(organization, changed) => (
      <>
        <Members organization={organization} onChange={changed} />
        <Invitations organization={organization} onChange={changed} />
      </>
    )}
  </OrganizationThings>
);

interface Part {
  organization: Organization;
  onChange(): void;
}

function Members({ organization, onChange }: Part) {
  const { data, error } = useQuery(membersQuery(organization));
  const add = (
    <DeedButton
      resource={organization}
      rel="create-member"
      verb="Add somebody by their id"
      asks={['user_id', 'permissions']}
      onDone={onChange}
    />
  );
  return (
    <List
      title="Members"
      about="Members see the organization. What they may do beyond that is given here; access to projects is given in each project, or by teams."
      button={add}
      rows={data?.items}
      error={error}
      columns={['Person', 'May', 'Since', actionsColumn]}
      empty={{ says: 'Nobody.' }}
    >
      {(member) => (
        <MemberRow
          key={member.user_id}
          member={member}
          person={data?.people[member.user_id]}
          organization={organization}
          onChange={onChange}
        />
      )}
    </List>
  );
}

interface MemberRow extends Part {
  member: Member;
  person: Person | undefined;
}

function MemberRow({ member, person, organization, onChange }: MemberRow) {
  const name = personNameOrId(person, member.user_id);
  return (
    <tr>
      <th scope="row">
        <span className="person">
          <Avatar name={name} />
          <span>
            {name}
            {person && <span className="quiet small block">{person.email}</span>}
          </span>
        </span>
      </th>
      <td data-label="May">{member.owner ? <span className="tag">owner</span> : <Permissions of={member.permissions} />}</td>
      <td data-label="Since">
        <Age of={member.created_at} ago />
      </td>
      <td className="end">
        <span className="row-actions">
          <DeedButton
            resource={member}
            rel="update"
            verb="Change"
            label={`Change what ${name} may do`}
            look="button tiny"
            asks={['permissions']}
            current={{ permissions: member.permissions }}
            onDone={onChange}
          />
          <DeedButton
            resource={member}
            rel="delete"
            verb="Remove"
            label={`Remove ${name}`}
            title={`Remove ${name} from ${organization.label}`}
            look="button tiny"
            guard={{ loses: `${name} loses all access to the organization's projects, and their places in its teams.` }}
            onDone={onChange}
          />
        </span>
      </td>
    </tr>
  );
}

const Permissions = ({ of: permissions }: { of: readonly string[] }) =>
  permissions.length === 0 ? (
    <span className="quiet">see the organization</span>
  ) : (
    <span className="tags">
      {permissions.map((permission) => (
        <span key={permission} className="tag plain" title={organizationWords[permission]}>
          {permission}
        </span>
      ))}
    </span>
  );

function Invitations({ organization, onChange }: Part) {
  const { data: invitations, error } = useQuery(invitationsQuery(organization));
  const invite = (
    <DeedButton
      resource={organization}
      rel="create-invitation"
      says="Invite somebody"
      verb="Send the invitation"
      look="button primary"
      asks={['email', 'permissions']}
      onDone={onChange}
    />
  );
  return (
    <List
      title="Invitations"
      hasHeading
      about="Whoever gets the mail accepts with an account that they have, or makes one."
      button={invite}
      rows={invitations}
      error={error}
      columns={['E-mail address', 'May', 'Invited by', 'Sent', actionsColumn]}
      empty={{
        says: 'Nobody is invited who has not answered yet.',
        cli: `upsun organization:user:add grace@example.org --org ${organization.name}`,
        curl: curlOf('POST', hrefOf(organization, 'create-invitation'), { email: 'grace@example.org', permissions: ['projects:create'] }),
      }}
    >
      {(invitation) => <InvitationRow key={invitation.id} invitation={invitation} onChange={onChange} />}
    </List>
  );
}

const InvitationRow = ({ invitation, onChange }: { invitation: Invitation; onChange(): void }) => (
  <tr>
    <th scope="row">{invitation.email}</th>
    <td data-label="May">
      <Permissions of={invitation.permissions} />
    </td>
    <td data-label="Invited by">{invitation.owner.display_name}</td>
    <td data-label="Sent">
      <Age of={invitation.created_at} ago />
    </td>
    <td className="end">
      <DeedButton
        resource={invitation}
        rel="delete"
        verb="Cancel the invitation"
        says="Cancel"
        label={`Cancel the invitation of ${invitation.email}`}
        look="button tiny"
        guard={{ loses: 'The link in the mail stops working.' }}
        onDone={onChange}
      />
    </td>
  </tr>
);
