/** The variables of a project, which all of its environments have unless they have their own of the same name. */
import { useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { hrefOf } from '../../api/link.ts';
import { variablesQuery, type Variable } from '../../api/project-queries.ts';
import type { Project } from '../../api/resources.ts';
import { useProjectChanged } from '../../api/use-project-changed.ts';
import { Age } from '../../ui/age.tsx';
import { actionsColumn, curlOf, List } from '../list-page.tsx';
import { ProjectThings } from './project-things.tsx';

const asked = ['name', 'value', 'is_sensitive', 'is_json', 'visible_build', 'visible_runtime'];

export const VariablesPage = () => <ProjectThings title="Variables">{(project) => <Variables project={project} />}</ProjectThings>;

function Variables({ project }: { project: Project }) {
  const { data: variables, error } = useQuery(variablesQuery(project));
  const changed = useProjectChanged(project.id);
  const add = (
    <DeedButton
      resource={project}
      rel="#manage-variables"
      says="Add a variable"
      title="Add a variable"
      verb="Add it"
      look="button primary"
      asks={asked}
      current={{ visible_build: true, visible_runtime: true }}
      onDone={changed}
    />
  );
  return (
    <List
      title="Variables"
      about={
        <>
          All environments have these, unless they have one of the same name. Apps see names that begin with <code>env:</code> as variables
          of their own, and all others in <code>PLATFORM_VARIABLES</code>.
        </>
      }
      button={add}
      rows={variables}
      error={error}
      columns={['Name', 'Value', 'Seen by', 'Changed', actionsColumn]}
      empty={{
        says: 'No variable yet. With the client, or with a request:',
        cli: 'upsun variable:create --level project --name env:API_URL --value https://api.example.org --yes',
        curl: curlOf('POST', hrefOf(project, '#manage-variables'), { name: 'env:API_URL', value: 'https://api.example.org' }),
      }}
    >
      {(variable) => <VariableRow key={variable.id} variable={variable} onChange={changed} />}
    </List>
  );
}

const VariableRow = ({ variable, onChange }: { variable: Variable; onChange(): void }) => (
  <tr>
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
);

function seenBy({ visible_build, visible_runtime }: Variable): string {
  if (visible_build && visible_runtime) return 'builds and apps';
  return visible_build ? 'builds' : visible_runtime ? 'apps' : 'nobody';
}

const VariableActions = ({ variable, onChange }: { variable: Variable; onChange(): void }) => (
  <span className="row-actions">
    <DeedButton
      resource={variable}
      rel="#edit"
      says="Change"
      label={`Change ${variable.name}`}
      title={`Change ${variable.name}`}
      look="button tiny"
      verb="Change it"
      asks={asked.slice(1)}
      current={{ ...variable }}
      onDone={onChange}
    />
    <DeedButton
      resource={variable}
      rel="#delete"
      says="Delete"
      label={`Delete ${variable.name}`}
      title={`Delete ${variable.name}`}
      look="button tiny"
      verb="Delete it"
      onDone={onChange}
    />
  </span>
);
