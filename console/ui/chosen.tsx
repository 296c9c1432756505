/** One of several things, by its name, as a field of a form. */
import { useId } from 'react';

interface Chosen {
  label: string;
  name: string;
  options: readonly { value: string; word: string }[];
}

export function Chosen({ label, name, options }: Chosen) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select className="input" id={id} name={name}>
        {options.map(({ value, word }) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </div>
  );
}
