/** The services outside that a project is connected with, and what each was told. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { DeedButton } from '../../actions/deed-button.tsx';
import { linkOf } from '../../api/link.ts';
import { deliveriesQuery, integrationsQuery, type Integration } from '../../api/project-queries.ts';
import { request } from '../../api/request.ts';
import type { Activity, Project } from '../../api/resources.ts';
import { useProjectChanged } from '../../api/use-project-changed.ts';
import { activityStanding } from '../../log/activity-log.tsx';
import { Age } from '../../ui/age.tsx';
import { Snippet } from '../../ui/copy-button.tsx';
import { Bones, FailureNotice } from '../../ui/notice.tsx';
import { Glyph } from '../../ui/status.tsx';
import { Failure } from '../page.tsx';
import { AddIntegration, ChangeIntegration } from './integration-forms.tsx';
import { subjectOf } from './integration-variants.ts';
import { ProjectThings, ThingsHead } from './project-things.tsx';

const deliveriesShown = 10;

export const IntegrationsPage = () => <ProjectThings title="Integrations">{(project) => <Integrations project={project} />}</ProjectThings>;

function Integrations({ project }: { project: Project }) {
  const { data: integrations, error } = useQuery(integrationsQuery(project));
  const changed = useProjectChanged(project.id);
  return (
    <>
      <ThingsHead button={<AddIntegration project={project} onDone={changed} />}>
        Code hosts that the project follows, whom its activities and its health are told, and where its logs are sent.
      </ThingsHead>
      {error && <Failure error={error} />}
      {!integrations && !error && <Bones rows={3} height={56} />}
      <div className="stack">
        {integrations?.map((integration) => (
          <IntegrationPanel key={integration.id} project={project} integration={integration} />
        ))}
      </div>
      {integrations?.length === 0 && (
        <div className="empty">
          <p>The project is connected with nothing outside yet. With the client, which asks for what a type needs:</p>
          <Snippet label="Copy the command" text={`upsun integration:add --project ${project.id}`} />
        </div>
      )}
    </>
  );
}

function IntegrationPanel({ project, integration }: { project: Project; integration: Integration }) {
  const [isOpen, setOpen] = useState(false);
  const changed = useProjectChanged(project.id);
  const subject = subjectOf(integration);
  return (
    <section className="panel" aria-label={`${integration.type} ${integration.id}`}>
      <header>
        <h2 className="mono">{integration.type}</h2>
        {subject !== '' && <span className="cut mono">{subject}</span>}
        <span className="quiet">
          changed <Age of={integration.updated_at} ago />
        </span>
        <span className="row-actions push">
          {linkOf(integration, '#activities') && (
            <button type="button" className="button tiny" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              What it was told
            </button>
          )}
          <CheckButton integration={integration} />
          <ChangeIntegration project={project} integration={integration} onDone={changed} />
          <DeedButton
            resource={integration}
            rel="#delete"
            says="Delete"
            label={`Delete ${integration.type} ${integration.id}`}
            title={`Delete ${integration.type}`}
            look="button tiny"
            verb="Delete it"
            guard={{ loses: 'It is told nothing any more, and follows nothing any more.', name: integration.type }}
            onDone={changed}
          />
        </span>
      </header>
      {isOpen && <Deliveries project={project.id} integration={integration} />}
    </section>
  );
}

/** Asks whatever is outside whether it would take what is sent, and says what it answered. */
function CheckButton({ integration }: { integration: Integration }) {
  const link = linkOf(integration, '#validate');
  const check = useMutation({ mutationFn: () => request('POST', link?.href ?? '') });
  if (!link) return undefined;
  return (
    <>
      {check.error && (
        <span className="is-failed small" role="alert">
          {check.error.message}
        </span>
      )}
      {check.isSuccess && (
        <span className="is-active small" role="status">
          It works
        </span>
      )}
      <button
        type="button"
        className="button tiny"
        aria-label={`Check ${integration.type} ${integration.id}`}
        disabled={check.isPending}
        onClick={() => check.mutate()}
      >
        Check
      </button>
    </>
  );
}

function Deliveries({ project, integration }: { project: string; integration: Integration }) {
  const { data: deliveries, error } = useQuery(deliveriesQuery(project, integration));
  if (error) return <Failure error={error} />;
  if (!deliveries) return <Bones rows={2} height={40} />;
  if (deliveries.length === 0) return <p className="quiet log-empty">Nothing yet.</p>;
  return (
    <table className="table inset cards">
      <tbody>
        {deliveries.slice(0, deliveriesShown).map((delivery) => (
          <DeliveryRow key={delivery.id} project={project} delivery={delivery} />
        ))}
      </tbody>
    </table>
  );
}

function DeliveryRow({ project, delivery }: { project: string; delivery: Activity }) {
  const changed = useProjectChanged(project);
  const link = linkOf(delivery, '#redeliver');
  const again = useMutation({ mutationFn: () => request('POST', link?.href ?? ''), onSuccess: changed });
  return (
    <tr>
      <td>
        <Glyph of={activityStanding(delivery)} />
      </td>
      <th scope="row">{delivery.text ?? delivery.type}</th>
      <td>
        <Age of={delivery.created_at} ago />
      </td>
      <td className="end">
        {link && (
          <button type="button" className="button tiny" disabled={again.isPending} onClick={() => again.mutate()}>
            Send again
          </button>
        )}
        {again.error && <FailureNotice>{again.error.message}</FailureNotice>}
      </td>
    </tr>
  );
}
