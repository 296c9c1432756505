/** The deployments of an environment, and the way back to each that is kept. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { LinkForm } from '../../actions/link-form.tsx';
import type { Told } from '../../actions/link-form.tsx';
import { linkOf } from '../../api/link.ts';
import { earlierDeploymentsQuery } from '../../api/queries.ts';
import type { EarlierDeployment, Environment } from '../../api/resources.ts';
import { useProjectChanged } from '../../api/use-project-changed.ts';
import { Age } from '../../ui/age.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Glyph } from '../../ui/status.tsx';
import { DeploymentDifferences } from './differences.tsx';

export function Deployments({ project, environment }: { project: string; environment: Environment }) {
  const { data: deployments } = useQuery(earlierDeploymentsQuery(project, environment));
  if (!deployments || deployments.length === 0) return undefined;
  return (
    <section className="section" aria-label="Deployments">
      <div className="section-head">
        <h2>Deployments</h2>
        <span className="quiet">A rollback brings back code, configuration and sizes, never data.</span>
      </div>
      <table className="table deployments">
        <tbody>
          {deployments.map((deployment) => (
            <DeploymentRow key={deployment.id} project={project} environment={environment} deployment={deployment} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps {
  project: string;
  environment: Environment;
  deployment: EarlierDeployment;
}

function DeploymentRow({ project, environment, deployment }: RowProps) {
  const { number, commit, created_at, is_current, can_rollback, user, text, activity } = deployment;
  return (
    <tr>
      <td className="mark">{is_current && <Glyph of="active" />}</td>
      <th scope="row">
        <span className="cut">{text ?? `Deployment ${number}`}</span>
        <span className="under">
          {commit !== null && <code>{commit.slice(0, 7)}</code>} {user?.display_name}, <Age of={created_at} ago />
        </span>
      </th>
      <td className="end">
        {activity !== null && (
          <Link to="/projects/$project/activities/$activity" params={{ project, activity }}>
            Log
          </Link>
        )}
      </td>
      <td className="end">{!is_current && <DifferencesButton project={project} environment={environment} deployment={deployment} />}</td>
      <td className="end">
        {is_current && <span className="strong is-active">Live</span>}
        {can_rollback && <RollbackButton project={project} environment={environment} deployment={deployment} />}
      </td>
    </tr>
  );
}

function DifferencesButton({ project, environment, deployment }: RowProps) {
  const [isOpen, setOpen] = useState(false);
  if (!linkOf(deployment, '#differences')) return undefined;
  return (
    <>
      <button
        type="button"
        className="button tiny quiet"
        aria-label={`What differs from deployment ${deployment.number}`}
        onClick={() => setOpen(true)}
      >
        What differs
      </button>
      {isOpen && (
        <Dialog title={`What differs from deployment ${deployment.number}`} isWide onClose={() => setOpen(false)}>
          <div className="dialog-body">
            <DeploymentDifferences project={project} environment={environment} deployment={deployment} />
          </div>
        </Dialog>
      )}
    </>
  );
}

function RollbackButton({ project, environment, deployment }: RowProps) {
  const changed = useProjectChanged(project);
  const [isAsking, setAsking] = useState(false);
  const link = linkOf(environment, '#rollback');
  if (!link) return undefined;
  const done = () => {
    setAsking(false);
    changed();
  };
  return (
    <>
      <button type="button" className="button tiny" onClick={() => setAsking(true)}>
        <Icon name="rollback" className="small" />
        Roll back
      </button>
      {isAsking && (
        <Dialog title={`Roll back to deployment ${deployment.number}`} isWide onClose={() => setAsking(false)}>
          <LinkForm
            link={link}
            verb="Roll back"
            given={{ deployment: deployment.id }}
            told={() => rollingBack(project, environment, deployment)}
            onDone={done}
            onCancel={() => setAsking(false)}
          />
        </Dialog>
      )}
    </>
  );
}

const rollingBack = (project: string, environment: Environment, deployment: EarlierDeployment): Told => ({
  drawing: <DeploymentDifferences project={project} environment={environment} deployment={deployment} />,
  effects: [
    { kind: 'kept', what: 'Data stays as it is', more: 'Disks keep the size that they have, too.' },
    { kind: 'kept', what: 'Variables stay those of now', more: 'Also those that are listed above as changed.' },
    {
      kind: 'kept',
      what: 'The branch stays as it is',
      more: 'The code of then runs until somebody pushes, merges or synchronizes.',
    },
  ],
});
