/** The members of a team, added from among those of its organization. */
import { useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { membersQuery, teamMembersQuery, type Team } from '../../api/organization-queries.ts';
import type { Organization } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Chosen } from '../../ui/chosen.tsx';
import { personNameOrId } from '../../ui/person-name.ts';
import { actionsColumn, List } from '../list-page.tsx';

export function TeamMembers({ organization, team, onChange }: { organization: Organization; team: Team; onChange(): void }) {
  const { data, error } = useQuery(teamMembersQuery(organization.id, team));
  const { data: everybody } = useQuery(membersQuery(organization));
  const others = (everybody?.items ?? []).filter(({ user_id }) => !data?.items.some((member) => member.user_id === user_id));
  const add = others.length > 0 && (
    <DeedButton
      resource={team}
      rel="create-member"
      verb="Add a member"
      title={`Add a member to ${team.label}`}
      asks={[]}
      more={{
        fields: (
          <Chosen
            label="Member of the organization"
            name="user_id"
            options={others.map(({ user_id }) => ({ value: user_id, word: personNameOrId(everybody?.people[user_id], user_id) }))}
          />
        ),
        body: (form) => ({ user_id: form.get('user_id') }),
      }}
      onDone={onChange}
    />
  );
  return (
    <List
      title="Members"
      hasHeading
      button={add}
      rows={data?.items}
      error={error}
      columns={['Person', 'Since', actionsColumn]}
      empty={{ says: 'Nobody is in this team yet.' }}
    >
      {(member) => {
        const name = personNameOrId(data?.people[member.user_id], member.user_id);
        return (
          <tr key={member.user_id}>
            <th scope="row">{name}</th>
            <td data-label="Since">
              <Age of={member.created_at} ago />
            </td>
            <td className="end">
              <DeedButton
                resource={member}
                rel="delete"
                verb="Remove"
                label={`Remove ${name}`}
                title={`Remove ${name} from ${team.label}`}
                look="button tiny"
                onDone={onChange}
              />
            </td>
          </tr>
        );
      }}
    </List>
  );
}
