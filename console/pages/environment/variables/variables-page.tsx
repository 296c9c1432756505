/** The variables that an environment is deployed with, and where each value comes from. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { DeedButton } from '../../../actions/deed-button.tsx';
import type { Told } from '../../../actions/link-form.tsx';
import { hrefOf } from '../../../api/link.ts';
import { projectQuery } from '../../../api/queries.ts';
import { useProjectChanged } from '../../../api/use-project-changed.ts';
import { environmentVariablesQuery, projectVariablesQuery } from '../../../api/variable-queries.ts';
import { actionsColumn, curlOf, List } from '../../list-page.tsx';
import { useTitle } from '../../page.tsx';
import { type OfEnvironment, useEnvironment } from '../use-environment.ts';
import { type ShownVariable, shownVariables } from './shown-variables.ts';
import './variables.css';

const asked = ['value', 'is_sensitive', 'is_json', 'visible_runtime', 'visible_build', 'application_scope'];

export function VariablesPage() {
  const of = useEnvironment();
  useTitle(of && `Variables of ${of.environment.id}`);
  return of && <Variables {...of} />;
}

function Variables({ project, environment }: OfEnvironment) {
  const { data: own, error } = useQuery(environmentVariablesQuery(project, environment));
  const { data: whole } = useQuery(projectQuery(project));
  const { data: ofProject = [] } = useQuery(projectVariablesQuery(whole));
  const changed = useProjectChanged(project);
  const shown = own && shownVariables(own, ofProject);
  return (
    <List
      title="Variables"
      hasHeading
      about="The nearest of a name counts: its own, then of the environments above, then of the project."
      button={
        <DeedButton
          resource={environment}
          rel="#manage-variables"
          verb="Add a variable"
          icon="key"
          asks={['name', ...asked, 'is_inheritable']}
          onDone={changed}
        />
      }
      rows={shown}
      error={error}
      look="variables"
      columns={['Name', 'Value', 'Comes from', 'Seen by', actionsColumn]}
      empty={{
        says: (
          <>
            <h3>No variables yet</h3>
            <p>
              A variable whose name begins with <code>env:</code> is one of the processes of apps, such as <code>env:API_URL</code>. Others
              are part of <code>PLATFORM_VARIABLES</code>.
            </p>
          </>
        ),
        cli: `upsun variable:create --level environment --environment ${environment.id} --name env:API_URL --value https://api.example.org --yes`,
        curl: curlOf('POST', hrefOf(environment, '#manage-variables'), { name: 'env:API_URL', value: 'https://api.example.org' }),
      }}
    >
      {(each) => <VariableRow key={each.variable.name} project={project} environment={environment} shown={each} />}
    </List>
  );
}

function VariableRow({ project, environment, shown }: OfEnvironment & { shown: ShownVariable }) {
  const changed = useProjectChanged(project);
  const { variable, origin, isEnabled } = shown;
  const { _links, ...current } = variable;
  return (
    <tr className={isEnabled ? undefined : 'is-off'}>
      <th scope="row" className="mono">
        {variable.name}
      </th>
      <td data-label="Value">
        <Value shown={shown} />
      </td>
      <td data-label="Comes from">
        <Origin project={project} environment={environment} shown={shown} />
      </td>
      <td data-label="Seen by">{readersOf(shown)}</td>
      <td className="end">
        {origin !== 'project' && (
          <span className="row">
            <DeedButton
              resource={variable}
              rel="#edit"
              verb={origin === 'own' ? 'Change' : 'Override'}
              label={`${origin === 'own' ? 'Change' : 'Override'} ${variable.name}`}
              look="button tiny"
              asks={[...asked, 'is_enabled', 'is_inheritable']}
              current={current}
              onDone={changed}
            />
            <DeedButton
              resource={variable}
              rel="#delete"
              verb="Delete"
              label={`Delete ${variable.name}`}
              look="button tiny quiet"
              told={() => deleting(shown)}
              onDone={changed}
            />
          </span>
        )}
      </td>
    </tr>
  );
}

const deleting = ({ overrides }: ShownVariable): Told => ({
  effects: [
    {
      kind: 'lost',
      what: 'Its value is gone',
      more: 'What runs is deployed anew without it, or staged where deployments are made by hand.',
    },
    ...(overrides ? [{ kind: 'kept', what: 'The variable of the project with this name is seen again' } as const] : []),
  ],
});

function Value({ shown: { variable, isEnabled } }: { shown: ShownVariable }) {
  if (!isEnabled) return <span className="quiet">disabled here: no variable of this name exists</span>;
  if (variable.is_sensitive) return <span className="quiet">sensitive, never shown</span>;
  if (variable.value === undefined) return <span className="quiet">of an environment that you may not see</span>;
  return variable.value === '' ? <span className="quiet">empty</span> : <code className="value">{variable.value}</code>;
}

function Origin({ project, environment, shown: { origin, from, overrides } }: OfEnvironment & { shown: ShownVariable }) {
  if (origin === 'project') return <>the project</>;
  if (origin === 'own')
    return (
      <>
        <code>{environment.id}</code> itself{overrides && <span className="under">in place of the project's</span>}
      </>
    );
  if (from === undefined) return <>an environment above</>;
  return (
    <Link className="mono" to="/projects/$project/environments/$environment/variables" params={{ project, environment: from }}>
      {from}
    </Link>
  );
}

function readersOf({ variable: { visible_build, visible_runtime, application_scope } }: ShownVariable): string {
  const readers = [visible_runtime && 'running apps', visible_build && 'builds'].filter((reader) => reader !== false);
  const whose = application_scope.length > 0 ? ` of ${application_scope.join(', ')}` : '';
  return readers.length === 0 ? 'nobody' : `${readers.join(' and ')}${whose}`;
}
