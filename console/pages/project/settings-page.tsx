/** What a project is called and how it is set, and its end. */
import { useNavigate } from '@tanstack/react-router';
import { DeedButton } from '../../actions/deed-button.tsx';
import type { Project } from '../../api/resources.ts';
import { useProjectChanged } from '../../api/use-project-changed.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ProjectThings } from './project-things.tsx';

type Set = Project & { timezone?: string; default_domain?: string | null };

export const SettingsPage = () => <ProjectThings title="Settings">{(project) => <Settings project={project} />}</ProjectThings>;

function Settings({ project }: { project: Set }) {
  const changed = useProjectChanged(project.id);
  const navigate = useNavigate();
  return (
    <>
      <div className="section-head">
        <h2>General</h2>
        <span className="push">
          <DeedButton
            resource={project}
            rel="#edit"
            says="Change"
            title="Change the project"
            verb="Change it"
            asks={['title', 'description', 'default_branch', 'timezone', 'default_domain']}
            current={{ ...project }}
            onDone={changed}
          />
        </span>
      </div>
      <dl className="facts">
        <dt>Title</dt>
        <dd>{project.title}</dd>
        <dt>Description</dt>
        <dd>{project.description || <span className="quiet">none</span>}</dd>
        <dt>Default branch</dt>
        <dd className="mono">{project.default_branch}</dd>
        <dt>Time zone</dt>
        <dd>{project.timezone}</dd>
        <dt>Region</dt>
        <dd>{project.region}</dd>
        <dt>Project id</dt>
        <dd className="row">
          <code>{project.id}</code>
          <CopyButton text={project.id} label="Copy the id" />
        </dd>
        <dt>Repository</dt>
        <dd className="row">
          <code>{project.repository.url}</code>
          <CopyButton text={project.repository.url} label="Copy the address of the repository" />
        </dd>
      </dl>
      <section className="section" aria-label="Upkeep">
        <div className="section-head">
          <h2>Upkeep</h2>
        </div>
        <div className="row wrap">
          <DeedButton
            resource={project}
            rel="#clear-build-cache"
            says="Clear the build cache"
            title="Clear the build cache"
            verb="Clear it"
            onDone={changed}
          />
          <DeedButton
            resource={project}
            rel="#delete"
            says="Delete the project"
            title={`Delete ${project.title}`}
            verb="Delete the project"
            look="button danger"
            guard={{ loses: 'All environments, their data and their backups are destroyed.', name: project.title || project.id }}
            onDone={() => void navigate({ to: '/' })}
          />
        </div>
      </section>
    </>
  );
}
