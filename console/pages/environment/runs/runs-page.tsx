/** What runs at its times, and what can be run when somebody likes. What a run says is the log of its activity. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { DeedButton } from '../../../actions/deed-button.tsx';
import { deploymentQuery } from '../../../api/queries.ts';
import { type Cron, cronsQuery, sourceOperationsQuery, tasksQuery } from '../../../api/run-queries.ts';
import { Age, exactTime } from '../../../ui/age.tsx';
import { Glyph } from '../../../ui/status.tsx';
import { useTitle } from '../../page.tsx';
import { type OfEnvironment, useEnvironment } from '../use-environment.ts';
import { givenVariables } from './given-variables.tsx';
import { RunTable } from './run-table.tsx';
import './runs.css';

export function RunsPage() {
  const of = useEnvironment();
  useTitle(of && `Tasks and crons of ${of.environment.id}`);
  return (
    of && (
      <div className="runs">
        <Crons {...of} />
        <Tasks {...of} />
        <Operations {...of} />
        <SourceOperations {...of} />
      </div>
    )
  );
}

/** One is led to the log of what was just begun. */
function useFollow(project: string) {
  const navigate = useNavigate();
  return (result: unknown) => {
    const { activities = [] } = (result as { _embedded?: { activities?: { id: string }[] } })._embedded ?? {};
    const [begun] = activities;
    if (begun) void navigate({ to: '/projects/$project/activities/$activity', params: { project, activity: begun.id } });
  };
}

function Crons({ project, environment }: OfEnvironment) {
  const { data: crons = [] } = useQuery(cronsQuery(project, environment));
  const follow = useFollow(project);
  return (
    <RunTable
      title="Crons"
      about="commands of apps that run at their times"
      columns={['Times', 'Next', 'Last']}
      nothing="No app has crons."
    >
      {crons.map((cron) => (
        <tr key={cron.id}>
          <RunName name={cron.name} app={cron.app} command={cron.command} />
          <td data-label="Times">
            <code>{cron.spec}</code>
            <span className="under">{cron.timezone}</span>
          </td>
          <td data-label="Next">{cron.next_at === null ? 'never' : exactTime(cron.next_at)}</td>
          <td data-label="Last">
            <LastRun project={project} cron={cron} />
          </td>
          <td className="end">
            <DeedButton
              resource={cron}
              rel="#run"
              verb="Run now"
              label={`Run ${cron.name} now`}
              icon="play"
              look="button tiny"
              onDone={follow}
            />
          </td>
        </tr>
      ))}
    </RunTable>
  );
}

function LastRun({ project, cron: { last_run } }: { project: string; cron: Cron }) {
  if (last_run === null) return <span className="quiet">not yet</span>;
  const { activity, state, result, completed_at } = last_run;
  return (
    <Link className="row" to="/projects/$project/activities/$activity" params={{ project, activity }}>
      <Glyph of={completed_at === null ? 'building' : result === 'failure' ? 'failed' : 'done'} />
      {completed_at === null ? state.replace('_', ' ') : <Age of={completed_at} ago />}
      <span className="unseen">{result === 'failure' ? 'failed' : ''}</span>
    </Link>
  );
}

function Tasks({ project, environment }: OfEnvironment) {
  const { data: tasks = [] } = useQuery(tasksQuery(project, environment));
  const follow = useFollow(project);
  return (
    <RunTable
      title="Tasks"
      about="in containers of their own, to their end"
      columns={['Type', 'Ends after']}
      nothing="The configuration has no tasks."
    >
      {tasks.map((task) => (
        <tr key={task.id}>
          <RunName name={task.name} command={task.run.command} />
          <td data-label="Type">{task.type}</td>
          <td data-label="Ends after">{task.run.timeout} s at most</td>
          <td className="end">
            <DeedButton
              resource={task}
              rel="#run"
              verb="Run"
              label={`Run the task ${task.name}`}
              icon="play"
              look="button tiny"
              asks={[]}
              more={givenVariables}
              onDone={follow}
            />
          </td>
        </tr>
      ))}
    </RunTable>
  );
}

function Operations({ project, environment }: OfEnvironment) {
  const { data: deployment } = useQuery(deploymentQuery(project, environment));
  const follow = useFollow(project);
  const operations = Object.entries({ ...deployment?.webapps, ...deployment?.workers }).flatMap(([service, { operations: own = {} }]) =>
    Object.entries(own).map(([operation, { role, commands }]) => ({ service, operation, role, command: commands.start })),
  );
  return (
    <RunTable title="Operations" about="inside what runs, with parameters" columns={['Role']} nothing="No app defines operations.">
      {operations.map(({ service, operation, role, command }) => (
        <tr key={`${service} ${operation}`}>
          <RunName name={operation} app={service} command={command} />
          <td data-label="Role">{role === 'admin' ? 'admins' : `${role}s and above`}</td>
          <td className="end">
            <DeedButton
              resource={deployment}
              rel="#operations"
              verb="Run"
              label={`Run ${operation} in ${service}`}
              icon="play"
              look="button tiny"
              given={{ service, operation }}
              asks={['parameters']}
              onDone={follow}
            />
          </td>
        </tr>
      ))}
    </RunTable>
  );
}

function SourceOperations({ project, environment }: OfEnvironment) {
  const { data: operations = [] } = useQuery(sourceOperationsQuery(project, environment));
  const follow = useFollow(project);
  return (
    <RunTable
      title="Source operations"
      about="on the code: what they commit is pushed and deployed"
      columns={[]}
      nothing="The last commit defines no source operations."
    >
      {operations.map(({ id, app, operation, command }) => (
        <tr key={id}>
          <RunName name={operation} app={app} command={command} />
          <td className="end">
            <DeedButton
              resource={environment}
              rel="#source-operation"
              verb="Run"
              label={`Run the source operation ${operation}`}
              icon="play"
              look="button tiny"
              given={{ operation }}
              asks={[]}
              more={givenVariables}
              onDone={follow}
            />
          </td>
        </tr>
      ))}
    </RunTable>
  );
}

const RunName = ({ name, app, command }: { name: string; app?: string; command: string }) => (
  <th scope="row">
    <span className="mono">{name}</span>
    {app !== undefined && <span className="quiet"> of {app}</span>}
    <code className="under cut" title={command}>
      {command.trim().split('\n', 1)[0]}
    </code>
  </th>
);
