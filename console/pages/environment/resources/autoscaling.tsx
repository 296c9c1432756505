/** What decides by itself how many instances there are, in words, and where that is changed. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { linkOf } from '../../../api/link.ts';
import { type AutoscalingSettings, autoscalingQuery, type ServiceSettings } from '../../../api/size-queries.ts';
import { useProjectChanged } from '../../../api/use-project-changed.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { Bones } from '../../../ui/notice.tsx';
import { Badge } from '../../../ui/status.tsx';
import { Failure } from '../../page.tsx';
import type { OfEnvironment } from '../use-environment.ts';
import { AutoscalingForm } from './autoscaling-form.tsx';
import { settingsWords } from './autoscaling-words.ts';

export function Autoscaling(of: OfEnvironment) {
  const { data: settings, error } = useQuery(autoscalingQuery(of.project, of.environment));
  const services = Object.entries(settings?.services ?? {});
  return (
    <section className="section" aria-labelledby="autoscaling">
      <div className="section-head">
        <h2 id="autoscaling">Autoscaling</h2>
        <span className="quiet">More instances of apps and workers when the load asks for them, and fewer when it does not.</span>
      </div>
      {error && <Failure error={error} />}
      {!settings && !error && <Bones rows={2} height={64} />}
      {settings && services.length === 0 && <p className="quiet">Nothing runs here yet that could be scaled.</p>}
      {settings && services.length > 0 && (
        <ul className="scaled">
          {services.map(([name, own]) => (
            <Scaled key={name} {...of} name={name} settings={own} defaults={settings.defaults} />
          ))}
        </ul>
      )}
    </section>
  );
}

interface ScaledProps extends OfEnvironment {
  name: string;
  settings: ServiceSettings;
  defaults: AutoscalingSettings['defaults'];
}

function Scaled({ project, environment, name, settings, defaults }: ScaledProps) {
  const [isOpen, setOpen] = useState(false);
  const changed = useProjectChanged(project);
  const link = linkOf(environment, '#manage-autoscaling');
  const done = () => {
    setOpen(false);
    changed();
  };
  return (
    <li className="panel">
      <div className="row">
        <h3 className="mono">{name}</h3>
        <Badge of={settings.enabled ? 'active' : 'inactive'}>{settings.enabled ? 'On' : 'Off'}</Badge>
        {link && (
          <button type="button" className="button tiny push" aria-label={`Change the autoscaling of ${name}`} onClick={() => setOpen(true)}>
            Change
          </button>
        )}
      </div>
      {settingsWords(settings).map((sentence) => (
        <p key={sentence} className="quiet">
          {sentence}
        </p>
      ))}
      {isOpen && link && (
        <Dialog
          title={
            <>
              Autoscaling of <code>{name}</code>
            </>
          }
          isWide
          onClose={() => setOpen(false)}
        >
          <AutoscalingForm
            link={link}
            name={name}
            settings={settings}
            defaults={defaults}
            isWorker={name in environment.sizing.workers}
            onDone={done}
            onCancel={() => setOpen(false)}
          />
        </Dialog>
      )}
    </li>
  );
}
