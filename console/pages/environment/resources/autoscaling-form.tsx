/** The settings of one app or worker. What they mean is said below, as they are changed. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { deedOf, type Link } from '../../../api/link.ts';
import { Refusal, request } from '../../../api/request.ts';
import { type AutoscalingSettings, type ServiceSettings, type Trigger, type TriggerName, triggers } from '../../../api/size-queries.ts';
import { FailureNotice, FieldError } from '../../../ui/notice.tsx';
import { secondsWords, settingsWords, triggerMeanings, triggerNames, unitOf } from './autoscaling-words.ts';

interface AutoscalingFormProps {
  link: Link;
  name: string;
  settings: ServiceSettings;
  defaults: AutoscalingSettings['defaults'];
  isWorker: boolean;
  onDone(): void;
  onCancel(): void;
}

type Settings = Omit<ServiceSettings, 'enabled'>;

/** Where nobody said anything about latency, which the defaults of the API leave out. */
const latencyUsual: Trigger = {
  enabled: false,
  up: { threshold: 1000, duration: 300, enabled: true },
  down: { threshold: 200, duration: 300, enabled: true },
};

/** Seconds, as the API takes them. */
const durations = [60, 120, 300, 600, 1800, 3600];

export function AutoscalingForm({ link, name, settings, defaults, isWorker, onDone, onCancel }: AutoscalingFormProps) {
  const { enabled: _enabled, ...given } = settings;
  const offered = triggers.filter((trigger) => !(isWorker && trigger === 'latency'));
  const triggerOf = (of: Settings, trigger: TriggerName) => of.triggers[trigger] ?? defaults.triggers[trigger] ?? latencyUsual;
  const [chosen, setChosen] = useState<Settings>(given);
  const saving = useMutation({
    mutationFn: async () => {
      const { method, href } = await deedOf(link);
      return request(method, href, { services: { [name]: chosen } });
    },
    onSuccess: onDone,
  });
  const refused = saving.error instanceof Refusal ? saving.error.fields : {};
  const refusal = (field: string) => {
    const sentence = refused[`services.${name}.${field}`];
    return sentence === undefined ? undefined : <FieldError>{`It ${sentence}.`}</FieldError>;
  };
  const setTrigger = (trigger: TriggerName, next: Trigger) => setChosen({ ...chosen, triggers: { ...chosen.triggers, [trigger]: next } });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate();
      }}
    >
      <div className="dialog-body autoscaling-form">
        {offered.map((trigger) => (
          <TriggerFields
            key={trigger}
            name={trigger}
            trigger={triggerOf(chosen, trigger)}
            refusal={refusal(`triggers.${trigger}.down.threshold`)}
            onChange={(next) => setTrigger(trigger, next)}
          />
        ))}
        <fieldset className="numbers-row">
          <legend>Instances</legend>
          <NumberField
            label="At least"
            value={chosen.instances.min}
            onChange={(min) => setChosen({ ...chosen, instances: { ...chosen.instances, min } })}
          />
          <NumberField
            label="At most"
            value={chosen.instances.max}
            onChange={(max) => setChosen({ ...chosen, instances: { ...chosen.instances, max } })}
          />
          <NumberField
            label="Come at once"
            value={chosen.scale_factor.up}
            onChange={(up) => setChosen({ ...chosen, scale_factor: { ...chosen.scale_factor, up } })}
          />
          <NumberField
            label="Go at once"
            value={chosen.scale_factor.down}
            onChange={(down) => setChosen({ ...chosen, scale_factor: { ...chosen.scale_factor, down } })}
          />
          {refusal('instances.min')}
          {refusal('instances.max')}
        </fieldset>
        <fieldset className="numbers-row">
          <legend>Seconds from one change to the next</legend>
          <NumberField
            label="For more"
            least={0}
            value={chosen.scale_cooldown.up}
            onChange={(up) => setChosen({ ...chosen, scale_cooldown: { ...chosen.scale_cooldown, up } })}
          />
          <NumberField
            label="For fewer"
            least={0}
            value={chosen.scale_cooldown.down}
            onChange={(down) => setChosen({ ...chosen, scale_cooldown: { ...chosen.scale_cooldown, down } })}
          />
        </fieldset>
        <div className="panel meaning" aria-live="polite">
          <h3>What this means</h3>
          {settingsWords(chosen).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
        {saving.error && <FailureNotice>{saving.error.message}</FailureNotice>}
      </div>
      <div className="dialog-foot">
        <button type="button" className="button quiet" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={saving.isPending}>
          Save the settings
        </button>
      </div>
    </form>
  );
}

interface TriggerFieldsProps {
  name: TriggerName;
  trigger: Trigger;
  refusal: React.ReactNode;
  onChange(trigger: Trigger): void;
}

const TriggerFields = ({ name, trigger, refusal, onChange }: TriggerFieldsProps) => (
  <fieldset className="trigger">
    <legend className="unseen">{triggerNames[name]}</legend>
    <label className="check">
      <input type="checkbox" checked={trigger.enabled} onChange={({ target }) => onChange({ ...trigger, enabled: target.checked })} />
      <span>
        {triggerNames[name]}
        <span className="hint">{triggerMeanings[name]}</span>
      </span>
    </label>
    {trigger.enabled && (
      <div className="numbers-row">
        {(['up', 'down'] as const).map((direction) => {
          const condition = trigger[direction];
          const word = direction === 'up' ? 'above' : 'below';
          return (
            <div key={direction} className="row">
              <NumberField
                label={`${direction === 'up' ? 'More' : 'Fewer'} ${word}, in ${unitOf(name)}`}
                spoken={`${triggerNames[name]} ${word}, in ${unitOf(name)}`}
                least={0}
                value={condition.threshold}
                onChange={(threshold) => onChange({ ...trigger, [direction]: { ...condition, threshold } })}
              />
              <label className="field">
                <span>for</span>
                <select
                  className="input"
                  aria-label={`${triggerNames[name]} ${word} for how long`}
                  value={condition.duration}
                  onChange={({ target }) => onChange({ ...trigger, [direction]: { ...condition, duration: Number(target.value) } })}
                >
                  {durations.map((seconds) => (
                    <option key={seconds} value={seconds}>
                      {secondsWords(seconds)}
                    </option>
                  ))}
                </select>
              </label>
            </div>
          );
        })}
        {refusal}
      </div>
    )}
  </fieldset>
);

interface NumberFieldProps {
  label: string;
  spoken?: string;
  least?: number;
  value: number;
  onChange(value: number): void;
}

/** What is half typed is kept as it is typed. */
function NumberField({ label, spoken, least = 1, value, onChange }: NumberFieldProps) {
  const [typed, setTyped] = useState(String(value));
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        type="number"
        min={least}
        required
        aria-label={spoken ?? label}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value);
          if (target.value !== '') onChange(Number(target.value));
        }}
      />
    </label>
  );
}
