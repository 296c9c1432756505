/** The variables of a project, which all of its environments have unless they have their own of the same name. */
import { useQuery } from '@tanstack/react-query';
import { LinkButton } from '../../actions/link-button.tsx';
import { variablesQuery, type Variable } from '../../api/project-queries.ts';
import type { Project } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Snippet } from '../../ui/copy-button.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Failure } from '../page.tsx';
import { ProjectThings, ThingsHead, useChanged } from './project-things.tsx';

const asked = ['name', 'value', 'is_sensitive', 'is_json', 'visible_build', 'visible_runtime'];

export const VariablesPage = () => <ProjectThings title="Variables">{(project) => <Variables project={project} />}</ProjectThings>;

function Variables({ project }: { project: Project }) {
  const { data: variables, error } = useQuery(variablesQuery(project));
  const changed = useChanged(project.id);
  const add = (
    <LinkButton
      resource={project}
      rel="#manage-variables"
      name="Add a variable"
      title="Add a variable"
      verb="Add it"
      buttonClass="button primary"
      asks={asked}
      current={{ visible_build: true, visible_runtime: true }}
      onDone={changed}
    />
  );
  return (
    <>
      <ThingsHead button={add}>
        All environments have these, unless they have one of the same name. Apps see names that begin with <code>env:</code> as variables of
        their own, and all others in <code>PLATFORM_VARIABLES</code>.
      </ThingsHead>
      {error && <Failure error={error} />}
      {!variables && !error && <Bones rows={3} height={40} />}
      {variables?.length === 0 && (
        <div className="empty">
          <p>No variable yet. With the client:</p>
          <Snippet
            label="Copy the command"
            text="upsun variable:create --level project --name env:API_URL --value https://api.example.org --yes"
          />
        </div>
      )}
      {variables && variables.length > 0 && <VariableTable variables={variables} onChange={changed} />}
    </>
  );
}

const VariableTable = ({ variables, onChange }: { variables: readonly Variable[]; onChange(): void }) => (
  <table className="table cards">
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Value</th>
        <th scope="col">Seen by</th>
        <th scope="col">Changed</th>
        <th scope="col">
          <span className="unseen">Actions</span>
        </th>
      </tr>
    </thead>
    <tbody>
      {variables.map((variable) => (
        <tr key={variable.id}>
          <th scope="row" className="mono">
            {variable.name}
          </th>
          <td data-label="Value" className="mono value">
            {variable.value === undefined ? <span className="quiet">sensitive: never shown</span> : variable.value}
          </td>
          <td data-label="Seen by">{seenBy(variable)}</td>
          <td data-label="Changed">
            <Age of={variable.updated_at} ago />
          </td>
          <td className="end">
            <VariableActions variable={variable} onChange={onChange} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

function seenBy({ visible_build, visible_runtime }: Variable): string {
  if (visible_build && visible_runtime) return 'builds and apps';
  return visible_build ? 'builds' : visible_runtime ? 'apps' : 'nobody';
}

const VariableActions = ({ variable, onChange }: { variable: Variable; onChange(): void }) => (
  <span className="row-actions">
    <LinkButton
      resource={variable}
      rel="#edit"
      name="Change"
      label={`Change ${variable.name}`}
      title={`Change ${variable.name}`}
      verb="Change it"
      asks={asked.slice(1)}
      current={{ ...variable }}
      onDone={onChange}
    />
    <LinkButton
      resource={variable}
      rel="#delete"
      name="Delete"
      label={`Delete ${variable.name}`}
      title={`Delete ${variable.name}`}
      verb="Delete it"
      onDone={onChange}
    />
  </span>
);
