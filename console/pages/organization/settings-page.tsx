/** What an organization is called, what it asks of its members, whom it belongs to, and its end. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { DeedButton } from '../../actions/deed-button.tsx';
import { membersQuery } from '../../api/organization-queries.ts';
import { linkOf } from '../../api/link.ts';
import type { Organization } from '../../api/resources.ts';
import { Chosen } from '../../ui/chosen.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { personNameOrId } from '../../ui/person-name.ts';
import { Badge } from '../../ui/status.tsx';
import { OrganizationThings } from './organization-things.tsx';

export const SettingsPage = () => (
  <OrganizationThings title="Settings">
    {(organization, changed) => (
      <>
        <General organization={organization} onChange={changed} />
        <Enforcement organization={organization} onChange={changed} />
        <End organization={organization} onChange={changed} />
      </>
    )}
  </OrganizationThings>
);

interface Part {
  organization: Organization;
  onChange(): void;
}

const General = ({ organization, onChange }: Part) => (
  <>
    <div className="section-head">
      <h2>General</h2>
      <span className="push">
        <DeedButton
          resource={organization}
          rel="update"
          verb="Change"
          label="Change the organization"
          asks={['label', 'name', 'country', 'security_contact']}
          current={{ ...organization }}
          onDone={onChange}
        />
      </span>
    </div>
    <dl className="facts">
      <dt>Label</dt>
      <dd>{organization.label}</dd>
      <dt>Name</dt>
      <dd className="mono">{organization.name}</dd>
      <dt>Country</dt>
      <dd>{organization.country || <span className="quiet">not told</span>}</dd>
      <dt>Security</dt>
      <dd>{organization.security_contact ?? <span className="quiet">nobody is named to write to</span>}</dd>
      <dt>Organization id</dt>
      <dd className="row">
        <code>{organization.id}</code>
        <CopyButton text={organization.id} label="Copy the id" />
      </dd>
    </dl>
  </>
);

function Enforcement({ organization, onChange }: Part) {
  const isOn = linkOf(organization, 'disable-mfa-enforcement') !== undefined;
  if (!isOn && !linkOf(organization, 'enable-mfa-enforcement')) return undefined;
  return (
    <section className="section" aria-label="Two factors">
      <div className="section-head">
        <h2>Two factors</h2>
        <span className="push">
          <DeedButton
            resource={organization}
            rel="enable-mfa-enforcement"
            verb="Ask for them"
            title="Ask for two-factor authentication"
            guard={{ loses: 'Members who signed in without a second factor are let in no more, until they have one and sign in with it.' }}
            onDone={onChange}
          />
          <DeedButton
            resource={organization}
            rel="disable-mfa-enforcement"
            verb="Stop asking"
            title="Stop asking for two-factor authentication"
            onDone={onChange}
          />
        </span>
      </div>
      <p>
        <Badge of={isOn ? 'active' : 'inactive'}>{isOn ? 'Asked for' : 'Not asked for'}</Badge>{' '}
        {isOn
          ? 'Only members who signed in with a second factor are let in.'
          : 'Members decide themselves whether they use a second factor.'}
      </p>
    </section>
  );
}

function End({ organization, onChange }: Part) {
  const navigate = useNavigate();
  const { data: members } = useQuery(membersQuery(organization));
  const others = members?.items.filter(({ owner }) => !owner) ?? [];
  if (!linkOf(organization, 'delete') && !linkOf(organization, 'transfer')) return undefined;
  return (
    <section className="section" aria-label="Owner and end">
      <div className="section-head">
        <h2>Owner and end</h2>
      </div>
      <div className="row wrap">
        {others.length > 0 && (
          <DeedButton
            resource={organization}
            rel="transfer"
            verb="Transfer it"
            says="Transfer to another owner"
            asks={[]}
            more={{
              fields: (
                <Chosen
                  label="New owner"
                  name="user_id"
                  options={others.map(({ user_id }) => ({ value: user_id, word: personNameOrId(members?.people[user_id], user_id) }))}
                />
              ),
              body: (form) => ({ user_id: form.get('user_id') }),
            }}
            onDone={onChange}
          />
        )}
        <DeedButton
          resource={organization}
          rel="delete"
          verb="Delete the organization"
          title={`Delete ${organization.label}`}
          look="button danger"
          guard={{ loses: 'Its members, teams and invitations go with it. It must have no project any more.', name: organization.name }}
          onDone={() => {
            onChange();
            void navigate({ to: '/' });
          }}
        />
      </div>
    </section>
  );
}
