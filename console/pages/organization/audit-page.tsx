/** Who did what in an organization: filtered by person, kind, project and time, and the same as a file. */
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { auditQuery, everyAuditRecord, type AuditFilter, type AuditRecord } from '../../api/audit-queries.ts';
import { membersQuery } from '../../api/organization-queries.ts';
import { organizationProjectsQuery } from '../../api/queries.ts';
import type { Organization, OrganizationProject } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { saveCsv } from '../../ui/csv.ts';
import { FailureNotice } from '../../ui/notice.tsx';
import { personNameOrId } from '../../ui/person-name.ts';
import { List } from '../list-page.tsx';
import { ShowMore } from '../long-list.tsx';
import { AuditFilters } from './audit-filters.tsx';
import { OrganizationThings } from './organization-things.tsx';

export const AuditPage = () => (
  <OrganizationThings title="Audit">{(organization) => <Audit organization={organization} />}</OrganizationThings>
);

function Audit({ organization }: { organization: Organization }) {
  const filter = useSearch({ from: '/organizations/$organization/audit' });
  const navigate = useNavigate();
  const { data, error, ...more } = useInfiniteQuery(auditQuery(organization, filter));
  const { data: members } = useQuery(membersQuery(organization));
  const { data: projects } = useQuery(organizationProjectsQuery(organization));
  const change = (next: AuditFilter) =>
    void navigate({ to: '/organizations/$organization/audit', params: { organization: organization.id }, search: next, replace: true });
  return (
    <>
      <List
        title="Audit"
        about="Every change that was made in the organization and its projects, and how its members changed the way they sign in. Kept for 400 days."
        button={<ExportButton organization={organization} filter={filter} />}
        filters={
          <AuditFilters
            filter={filter}
            people={(members?.items ?? []).map(({ user_id }) => ({
              value: user_id,
              word: personNameOrId(members?.people[user_id], user_id),
            }))}
            projects={(projects ?? []).map(({ id, title }) => ({ value: id, word: title || id }))}
            onChange={change}
          />
        }
        rows={data?.pages.flatMap(({ items }) => items)}
        error={error}
        columns={['When', 'Who', 'What', 'Concerns', 'From']}
        empty={{ says: 'Nothing was done that these filters let through.' }}
      >
        {(record) => <RecordRow key={record.id} record={record} project={projects?.find(({ id }) => id === record.project_id)} />}
      </List>
      <ShowMore {...more} />
    </>
  );
}

const RecordRow = ({ record, project }: { record: AuditRecord; project: OrganizationProject | undefined }) => (
  <tr>
    <td data-label="When">
      <Age of={record.created_at} ago />
    </td>
    <th scope="row">{record.user.display_name}</th>
    <td data-label="What">
      <div>
        {record.activity_id !== null && record.project_id !== null ? (
          <Link to="/projects/$project/activities/$activity" params={{ project: record.project_id, activity: record.activity_id }}>
            {record.summary}
          </Link>
        ) : (
          record.summary
        )}
        <span className="quiet small mono block">{record.target}</span>
      </div>
    </td>
    <td data-label="Concerns">{concerned(record, project)}</td>
    <td data-label="From" className="mono">
      {record.address}
    </td>
  </tr>
);

const concerned = ({ subject, project_id, kind }: AuditRecord, project: OrganizationProject | undefined) =>
  [subject?.display_name, project?.title ?? project_id].filter((name) => name !== undefined && name !== null).join(', ') || kind;

function ExportButton({ organization, filter }: { organization: Organization; filter: AuditFilter }) {
  const save = useMutation({
    mutationFn: () => everyAuditRecord(organization, filter),
    onSuccess: ({ items }) => saveCsv(`audit-${organization.name}`, csvRows(items)),
  });
  return (
    <>
      <button type="button" className="button" disabled={save.isPending} onClick={() => save.mutate()}>
        Save as CSV
      </button>
      {save.error && <FailureNotice>{save.error.message}</FailureNotice>}
      {save.data?.isCut && (
        <FailureNotice>The file has the newest {save.data.items.length} records, and there are more: choose a shorter time.</FailureNotice>
      )}
    </>
  );
}

const csvRows = (records: readonly AuditRecord[]) => [
  ['time', 'user_id', 'user', 'operation', 'kind', 'summary', 'target', 'concerns', 'project_id', 'activity_id', 'address'],
  ...records.map(({ created_at, user, operation, kind, summary, target, subject, project_id, activity_id, address }) => [
    created_at,
    user.id,
    user.display_name,
    operation,
    kind,
    summary,
    target,
    subject?.display_name ?? '',
    project_id ?? '',
    activity_id ?? '',
    address,
  ]),
];
