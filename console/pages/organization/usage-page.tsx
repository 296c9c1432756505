/** What a project of an organization used in this month so far, and what it costs where the operator set prices. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { estimateQuery, subscriptionsQuery, usageQuery, type Subscription } from '../../api/usage-queries.ts';
import type { Organization } from '../../api/resources.ts';
import { saveCsv } from '../../ui/csv.ts';
import { Bones } from '../../ui/notice.tsx';
import { List } from '../list-page.tsx';
import { Failure } from '../page.tsx';
import { OrganizationThings } from './organization-things.tsx';

export const UsagePage = () => (
  <OrganizationThings title="Usage">{(organization) => <Usage organization={organization} />}</OrganizationThings>
);

function Usage({ organization }: { organization: Organization }) {
  const { data: subscriptions, error } = useQuery(subscriptionsQuery(organization));
  const { project } = useSearch({ from: '/organizations/$organization/usage' });
  const navigate = useNavigate();
  if (error) return <Failure error={error} />;
  if (!subscriptions) return <Bones rows={4} height={40} />;
  const shown = subscriptions.find(({ project_id }) => project_id === project) ?? subscriptions[0];
  if (!shown) return <p className="empty">The organization has no project, so nothing is used.</p>;
  return (
    <>
      <label className="field inline">
        <span className="label">Project</span>
        <select
          className="input narrow"
          value={shown.project_id}
          onChange={({ target }) =>
            void navigate({
              to: '/organizations/$organization/usage',
              params: { organization: organization.id },
              search: { project: target.value },
              replace: true,
            })
          }
        >
          {subscriptions.map(({ project_id, project_title }) => (
            <option key={project_id} value={project_id}>
              {project_title || project_id}
            </option>
          ))}
        </select>
      </label>
      <Used subscription={shown} />
    </>
  );
}

function Used({ subscription }: { subscription: Subscription }) {
  const { data: usage, error } = useQuery(usageQuery(subscription));
  const { data: estimate } = useQuery(estimateQuery(subscription));
  const groups = usage && Object.entries(usage);
  const save = () =>
    saveCsv(`usage-${subscription.project_id}`, [
      ['group', 'title', 'used', 'daily_average', 'free'],
      ...(groups ?? []).map(([group, { title, current_usage, daily_average, free_quantity }]) => [
        group,
        title,
        current_usage,
        daily_average,
        free_quantity,
      ]),
    ]);
  return (
    <>
      {estimate && estimate.total.currency_code !== 'XXX' && (
        <p className="figure">
          <strong>{estimate.total.formatted}</strong> in a month, as it is set now
        </p>
      )}
      <List
        title="Usage"
        about="This month so far. What is allocated counts by the time that it was; what adds up counts once."
        button={
          <button type="button" className="button" disabled={!groups} onClick={save}>
            Save as CSV
          </button>
        }
        rows={groups}
        error={error}
        columns={['What', { number: 'Used' }, { number: 'On a day' }, { number: 'Free' }]}
        empty={{ says: 'Nothing was used in this month yet.' }}
      >
        {([group, { title, current_usage_formatted, daily_average_formatted, free_quantity_formatted }]) => (
          <tr key={group}>
            <th scope="row">{title}</th>
            <td className="number" data-label="Used">
              {current_usage_formatted}
            </td>
            <td className="number" data-label="On a day">
              {daily_average_formatted}
            </td>
            <td className="number" data-label="Free">
              {free_quantity_formatted}
            </td>
          </tr>
        )}
      </List>
    </>
  );
}
