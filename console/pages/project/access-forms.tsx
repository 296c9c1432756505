/** Letting somebody in: a person by e-mail, who may not even have an account, or a team of the organization. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { LinkForm } from '../../actions/link-form.tsx';
import { organizationTeamsQuery } from '../../api/access-queries.ts';
import { linkOf } from '../../api/link.ts';
import { request } from '../../api/request.ts';
import type { Project } from '../../api/resources.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FailureNotice } from '../../ui/notice.tsx';
import { invitedRoles, roles, types } from './access-roles.ts';

interface Form {
  project: Project;
  onDone(): void;
}

export function InviteButton({ project, onDone }: Form) {
  const [isOpen, setOpen] = useState(false);
  const link = linkOf(project, '#invite');
  if (!link) return undefined;
  const done = () => {
    setOpen(false);
    onDone();
  };
  return (
    <>
      <button type="button" className="button primary" onClick={() => setOpen(true)}>
        Invite somebody
      </button>
      {isOpen && (
        <Dialog title="Invite somebody" onClose={() => setOpen(false)}>
          <LinkForm
            link={link}
            verb="Send the invitation"
            summary="They get a mail with a link. Whoever has no account makes one on the way."
            asks={['email', 'role', 'force']}
            suggests={{ role: 'viewer' }}
            first={({ path }) => path !== 'force'}
            more={{
              fields: <RolesOnTypes />,
              body: (form) => ({ permissions: invitedRoles((type) => textIn(form, nameOf(type))) }),
            }}
            onDone={done}
            onCancel={() => setOpen(false)}
          />
        </Dialog>
      )}
    </>
  );
}

const environmentTypes = types.filter((type) => type !== 'project');
const nameOf = (type: string) => `on ${type}`;

const textIn = (form: FormData, name: string) => {
  const text = form.get(name);
  return typeof text === 'string' ? text : '';
};

/** Somebody new is first let into what is not production. */
const suggested: Readonly<Record<string, string>> = { development: 'contributor', staging: 'viewer' };

const RolesOnTypes = () => (
  <fieldset className="roles-on-types">
    <legend>Roles on environments</legend>
    <p className="hint">An administrator of the project may do everything, whatever is chosen here.</p>
    <div className="row wrap">
      {environmentTypes.map((type) => (
        <RoleOnType key={type} type={type} />
      ))}
    </div>
  </fieldset>
);

function RoleOnType({ type }: { type: (typeof environmentTypes)[number] }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>On {type}</label>
      <select className="input" id={id} name={nameOf(type)} defaultValue={suggested[type] ?? ''}>
        {roles[type].map(({ role, word }) => (
          <option key={role} value={role}>
            {word}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A form in the line of the page; once the team is in, it asks for the next one. */
export function AddTeam({ project, present, onDone }: Form & { present: ReadonlySet<string> }) {
  const link = linkOf(project, '#grant-team-access');
  const { data: teams } = useQuery({ ...organizationTeamsQuery(project.organization), enabled: link !== undefined });
  const [chosen, setChosen] = useState('');
  const add = useMutation({
    mutationFn: (team: string) => request('POST', link?.href ?? '', [{ team_id: team }]),
    onSuccess: () => {
      setChosen('');
      onDone();
    },
  });
  const absent = teams?.filter(({ id }) => !present.has(id)) ?? [];
  if (!link || absent.length === 0) return undefined;
  return (
    <form
      className="row wrap add-team"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate(chosen);
      }}
    >
      <select className="input" aria-label="Team" value={chosen} onChange={({ target }) => setChosen(target.value)}>
        <option value="">Choose a team</option>
        {absent.map(({ id, label }) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
      <button type="submit" className="button" disabled={chosen === '' || add.isPending}>
        Let the team in
      </button>
      {add.error && <FailureNotice>{add.error.message}</FailureNotice>}
    </form>
  );
}
