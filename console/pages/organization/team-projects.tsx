/** The projects that a team was let into. Whether somebody may let it into another one depends on that project, so the API is asked, and says why not. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { DeedButton } from '../../actions/deed-button.tsx';
import { hrefOf } from '../../api/link.ts';
import { teamProjectsQuery, type Team } from '../../api/organization-queries.ts';
import { organizationProjectsQuery } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import type { Organization, OrganizationProject } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Chosen } from '../../ui/chosen.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { FailureNotice } from '../../ui/notice.tsx';
import { actionsColumn, List } from '../list-page.tsx';

export function TeamProjects({ organization, team, onChange }: { organization: Organization; team: Team; onChange(): void }) {
  const { data: projects, error } = useQuery(teamProjectsQuery(organization.id, team));
  const { data: all } = useQuery(organizationProjectsQuery(organization));
  const others = (all ?? []).filter(({ id }) => !projects?.some(({ project_id }) => project_id === id));
  return (
    <List
      title="Projects"
      hasHeading
      button={others.length > 0 && <LetIn team={team} projects={others} onDone={onChange} />}
      rows={projects}
      error={error}
      columns={['Project', 'Since', actionsColumn]}
      empty={{ says: 'The team was not let into any project yet.' }}
    >
      {(access) => (
        <tr key={access.project_id}>
          <th scope="row">{access.project_title || access.project_id}</th>
          <td data-label="Since">
            <Age of={access.granted_at} ago />
          </td>
          <td className="end">
            <DeedButton
              resource={access}
              rel="delete"
              verb="Remove"
              label={`Remove ${access.project_title || access.project_id}`}
              title={`End the access of ${team.label} to ${access.project_title || access.project_id}`}
              look="button tiny"
              onDone={onChange}
            />
          </td>
        </tr>
      )}
    </List>
  );
}

function LetIn({ team, projects, onDone }: { team: Team; projects: readonly OrganizationProject[]; onDone(): void }) {
  const [isAsking, setAsking] = useState(false);
  const letIn = useMutation({
    mutationFn: (project_id: FormDataEntryValue | null) => request('POST', hrefOf(team, 'project-access') ?? '', [{ project_id }]),
    onSuccess: () => {
      setAsking(false);
      onDone();
    },
  });
  return (
    <>
      <button type="button" className="button" onClick={() => setAsking(true)}>
        Let it into a project
      </button>
      {isAsking && (
        <Dialog title={`Let ${team.label} into a project`} onClose={() => setAsking(false)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              letIn.mutate(new FormData(event.currentTarget).get('project'));
            }}
          >
            <div className="dialog-body">
              <Chosen label="Project" name="project" options={projects.map(({ id, title }) => ({ value: id, word: title || id }))} />
              {letIn.error && <FailureNotice>{letIn.error.message}</FailureNotice>}
            </div>
            <div className="dialog-foot">
              <button type="button" className="button quiet" onClick={() => setAsking(false)}>
                Cancel
              </button>
              <button type="submit" className="button primary" disabled={letIn.isPending}>
                Let it in
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}
