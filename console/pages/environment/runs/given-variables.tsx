/** Variables that somebody gives along when they run something: `NAME=value`, one on each line. They are stronger than all others. */
import type { Body } from '../../../actions/link-form.tsx';

const fieldName = 'given variables';

export function variablesIn(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return Object.fromEntries(lines.map((line) => [line.split('=', 1)[0]?.trim() ?? '', line.slice(line.indexOf('=') + 1)]));
}

export const givenVariables = {
  fields: (
    <label className="field">
      <span className="label">
        Variables <span className="quiet">(optional)</span>
      </span>
      <textarea className="input mono" name={fieldName} rows={3} placeholder="FILE=a.txt" autoComplete="off" spellCheck={false} />
      <span className="hint">One on each line. Nobody says which are secret, so none is shown again.</span>
    </label>
  ),
  body(form: FormData): Body {
    const text = form.get(fieldName);
    const env = typeof text === 'string' ? variablesIn(text) : {};
    return Object.keys(env).length === 0 ? {} : { variables: { env } };
  },
};
