/** How large each container is, how many there are of each, and what changes that by itself. What a change does is shown before it is made. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { linkOf } from '../../../api/link.ts';
import { Refusal } from '../../../api/request.ts';
import { autoscalingQuery, changeSizes, type NextDeployment, nextDeploymentQuery, previewQuery } from '../../../api/size-queries.ts';
import { useProjectChanged } from '../../../api/use-project-changed.ts';
import { Bones, FailureNotice } from '../../../ui/notice.tsx';
import { Failure, useTitle } from '../../page.tsx';
import { type OfEnvironment, useEnvironment } from '../use-environment.ts';
import { Autoscaling } from './autoscaling.tsx';
import { ChangePreview } from './change-preview.tsx';
import './resources.css';
import { changeOf, type Choices, keyOf, rowsOf } from './size-changes.ts';
import { SizeRow } from './size-row.tsx';

export function ResourcesPage() {
  const of = useEnvironment();
  useTitle(of && `Resources of ${of.environment.id}`);
  return of && <Resources {...of} />;
}

function Resources(of: OfEnvironment) {
  const { data: next, error, isPending, fetchStatus } = useQuery(nextDeploymentQuery(of.project, of.environment));
  if (error) return <Failure error={error} />;
  if (isPending && fetchStatus === 'idle') return <NothingToSize environment={of.environment.id} />;
  if (!next) return <Bones rows={4} height={44} />;
  return (
    <>
      <Sizes {...of} next={next} />
      <Autoscaling {...of} />
    </>
  );
}

const NothingToSize = ({ environment }: { environment: string }) => (
  <div className="empty">
    <h2>Nothing to give sizes to</h2>
    <p>
      The branch <code>{environment}</code> has no code yet. Push to it: its containers then have the usual sizes, or those of its parent,
      and are listed here.
    </p>
  </div>
);

/** What was chosen and not applied yet stays on the page while everything else changes. */
function Sizes({ project, environment, next }: OfEnvironment & { next: NextDeployment }) {
  const [choices, setChoices] = useState<Choices>({});
  const navigate = useNavigate();
  const changed = useProjectChanged(project);
  const { data: autoscaling } = useQuery(autoscalingQuery(project, environment));
  const rows = rowsOf(next);
  const change = changeOf(rows, choices);
  const isChange = Object.keys(change).length > 0;
  const { data: preview, error: refusal, isPlaceholderData } = useQuery(previewQuery(project, environment, next, change));
  const applying = useMutation({
    mutationFn: () => changeSizes(next, change),
    onSuccess: () => {
      setChoices({});
      changed();
      void navigate({ to: '/projects/$project/environments/$environment', params: { project, environment: environment.id } });
    },
  });
  const error = applying.error ?? (isChange ? refusal : null);
  const refused = error instanceof Refusal ? error.fields : {};
  const submit = (event: FormEvent) => {
    event.preventDefault();
    applying.mutate();
  };
  return (
    <form className="section sizes" aria-labelledby="sizes" onSubmit={submit}>
      <div className="section-head">
        <h2 id="sizes">Sizes and instances</h2>
        <span className="quiet">What each container may use. Choose, and see what it does before it is applied.</span>
      </div>
      <div className="table-scroll">
        <table className="table cards">
          <thead>
            <tr>
              <th scope="col">Container</th>
              <th scope="col">Size</th>
              <th scope="col">Instances</th>
              <th scope="col">Disk in MB</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <SizeRow
                key={keyOf(row)}
                row={row}
                canChange={linkOf(next, '#edit') !== undefined}
                isAutoscaled={autoscaling?.services[row.name]?.enabled ?? false}
                chosen={choices[keyOf(row)] ?? {}}
                refused={refused}
                onChoose={(chosen) => {
                  applying.reset();
                  setChoices({ ...choices, [keyOf(row)]: { ...choices[keyOf(row)], ...chosen } });
                }}
              />
            ))}
          </tbody>
        </table>
      </div>
      {isChange && error && (
        <FailureNotice>
          <p>{error.message}</p>
        </FailureNotice>
      )}
      {isChange && !refusal && preview && <ChangePreview preview={preview} />}
      {isChange && (
        <div className="row size-buttons">
          <button
            type="submit"
            className="button primary"
            disabled={applying.isPending || refusal !== null || !preview || isPlaceholderData}
          >
            {preview?.is_staged ? 'Stage the change' : 'Apply the change'}
          </button>
          <button type="button" className="button quiet" onClick={() => setChoices({})}>
            Leave it as it is
          </button>
        </div>
      )}
    </form>
  );
}
