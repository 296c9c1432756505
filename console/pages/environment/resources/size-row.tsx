/** One container, with what can be chosen for it. Whoever may not change it sees what it has. */
import { megabytesText } from '../../../ui/amounts.ts';
import { FieldError } from '../../../ui/notice.tsx';
import { type Choices, keyOf, type SizedRow } from './size-changes.ts';

interface SizeRowProps {
  row: SizedRow;
  canChange: boolean;
  isAutoscaled: boolean;
  chosen: Choices[string];
  refused: Readonly<Record<string, string>>;
  onChoose(chosen: Choices[string]): void;
}

export function SizeRow({ row, canChange, isAutoscaled, chosen, refused, onChoose }: SizeRowProps) {
  const { name, container, sizes, hasDisk } = row;
  const size = chosen.size ?? container.resources.profile_size ?? '';
  const refusal = (field: string) => {
    const sentence = refused[`${keyOf(row)}.${field}`];
    return sentence === undefined ? undefined : <FieldError>{`It ${sentence}.`}</FieldError>;
  };
  return (
    <tr>
      <th scope="row">
        <span className="mono">{name}</span>
        <span className="under">{container.type}</span>
      </th>
      <td data-label="Size">
        {canChange && sizes.length > 0 ? (
          <select className="input" aria-label={`Size of ${name}`} value={size} onChange={({ target }) => onChoose({ size: target.value })}>
            {size === '' && <option value="">Choose a size</option>}
            {sizes.map((step) => (
              <option key={step.name} value={step.name}>
                {sizeWords(step)}
              </option>
            ))}
          </select>
        ) : (
          sizes.filter((step) => step.name === size).map(sizeWords)
        )}
        {refusal('resources.profile_size')}
      </td>
      <td data-label="Instances">
        {canChange && container.supports_horizontal_scaling && !isAutoscaled ? (
          <input
            className="input number"
            type="number"
            min={1}
            aria-label={`Instances of ${name}`}
            value={chosen.instances ?? container.instance_count}
            onChange={({ target }) => onChoose({ instances: target.value })}
          />
        ) : (
          container.instance_count
        )}
        {isAutoscaled && <span className="under">as the load asks for</span>}
        {!container.supports_horizontal_scaling && <span className="under">always one</span>}
        {refusal('instance_count')}
      </td>
      <td data-label="Disk in MB">
        {canChange && hasDisk ? (
          <input
            className="input number"
            type="number"
            min={container.disk ?? 0}
            step={256}
            aria-label={`Disk of ${name} in MB`}
            value={chosen.disk ?? container.disk ?? 0}
            onChange={({ target }) => onChoose({ disk: target.value })}
          />
        ) : (
          <span className={hasDisk ? undefined : 'quiet'}>
            {hasDisk && container.disk !== null ? megabytesText(container.disk) : 'none'}
          </span>
        )}
        {refusal('disk')}
      </td>
    </tr>
  );
}

const sizeWords = ({ cpu, memory }: SizedRow['sizes'][number]) => `${cpu} CPU, ${memory} MB`;
