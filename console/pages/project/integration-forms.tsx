/** Forms for integrations: what each type takes is one of the bodies that the project's link describes, so a new type of the API has its form here. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FormField } from '../../actions/form-fields.ts';
import { LinkForm } from '../../actions/link-form.tsx';
import { deedOf, linkOf, type Link } from '../../api/link.ts';
import type { Integration } from '../../api/project-queries.ts';
import type { Project } from '../../api/resources.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Bones, FailureNotice } from '../../ui/notice.tsx';
import { changeOf, newOf, type Variant, variantsIn } from './integration-variants.ts';

/** Beside what a type requires, these are what most people decide about; all else is behind "More". */
const usualFields = new Set([
  'token',
  'app_credentials.key',
  'app_credentials.secret',
  'fetch_branches',
  'build_pull_requests',
  'build_merge_requests',
  'events',
  'environments',
  'states',
  'shared_key',
  'host',
  'port',
  'protocol',
]);

const isUsual = ({ path, isRequired }: FormField) => isRequired || usualFields.has(path);

/** The types that a project may be connected with; undefined until they are known, or where nobody may add one. */
function useVariants(project: Project, isWanted: boolean) {
  const link = linkOf(project, '#manage-integrations');
  return useQuery({
    queryKey: ['deed', link, 'variants'],
    queryFn: async () => variantsIn((await deedOf(link as Link)).fields),
    enabled: isWanted && link !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function AddIntegration({ project, onDone }: { project: Project; onDone(): void }) {
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<Variant>();
  const { data: variants, error } = useVariants(project, isOpen);
  const link = linkOf(project, '#manage-integrations');
  if (!link) return undefined;
  const close = () => {
    setOpen(false);
    setChosen(undefined);
  };
  const done = () => {
    close();
    onDone();
  };
  return (
    <>
      <button type="button" className="button primary" onClick={() => setOpen(true)}>
        Add an integration
      </button>
      {isOpen && (
        <Dialog
          title={chosen ? <TypeTitle type={chosen.type} onBack={() => setChosen(undefined)} /> : 'Add an integration'}
          onClose={close}
        >
          {error && <FailureNotice>{error.message}</FailureNotice>}
          {!variants && !error && <Bones rows={6} height={36} />}
          {variants && !chosen && <TypeList variants={variants} onChoose={setChosen} />}
          {chosen && (
            <LinkForm
              link={link}
              verb="Add it"
              summary={chosen.purpose}
              schema={newOf(chosen)}
              given={{ type: chosen.type }}
              first={isUsual}
              onDone={done}
              onCancel={close}
            />
          )}
        </Dialog>
      )}
    </>
  );
}

const TypeTitle = ({ type, onBack }: { type: string; onBack(): void }) => (
  <span className="row">
    <button type="button" className="icon-button tiny" aria-label="Choose another type" onClick={onBack}>
      <Icon name="back" />
    </button>
    Add <span className="mono">{type}</span>
  </span>
);

const TypeList = ({ variants, onChoose }: { variants: readonly Variant[]; onChoose(variant: Variant): void }) => (
  <ul className="type-list" aria-label="Types of integrations">
    {variants.map((variant) => (
      <li key={variant.type}>
        <button type="button" onClick={() => onChoose(variant)}>
          <span className="mono">{variant.type}</span>
          <span className="quiet">{variant.purpose}</span>
        </button>
      </li>
    ))}
  </ul>
);

interface Change {
  project: Project;
  integration: Integration;
  onDone(): void;
}

export function ChangeIntegration({ project, integration, onDone }: Change) {
  const [isOpen, setOpen] = useState(false);
  const { data: variants, error } = useVariants(project, isOpen);
  const link = linkOf(integration, '#edit');
  if (!link || !linkOf(project, '#manage-integrations')) return undefined;
  const variant = variants?.find(({ type }) => type === integration.type);
  const close = () => setOpen(false);
  const done = () => {
    close();
    onDone();
  };
  return (
    <>
      <button
        type="button"
        className="button tiny"
        aria-label={`Change ${integration.type} ${integration.id}`}
        onClick={() => setOpen(true)}
      >
        Change
      </button>
      {isOpen && (
        <Dialog title={`Change ${integration.type}`} onClose={close}>
          {error && <FailureNotice>{error.message}</FailureNotice>}
          {!variants && !error && <Bones rows={6} height={36} />}
          {variant && (
            <LinkForm
              link={link}
              verb="Change it"
              schema={changeOf(variant, integration)}
              current={{ ...integration }}
              first={isUsual}
              onDone={done}
              onCancel={close}
            />
          )}
        </Dialog>
      )}
    </>
  );
}
