/** What is narrowed down by: a chip for each filter, and a way to another. */
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { breakdownQuery, trafficQuery } from '../../../api/observability-queries.ts';
import { CopyButton } from '../../../ui/copy-button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Icon } from '../../../ui/icon.tsx';
import type { Looking } from './use-view.ts';
import { ViewLink } from './view-link.tsx';
import { type Filter, type FilterName, filtersIn, filtersOf, lookOf, withoutFilter, withValue } from './view.ts';

export function FilterBar(looking: Looking) {
  const { view, look } = looking;
  const [isAdding, setAdding] = useState(false);
  return (
    <div className="chips" role="group" aria-label="Filters">
      {filtersIn(view).map((filter) => (
        <ViewLink
          key={filter.name}
          looking={looking}
          to={withoutFilter(view, filter)}
          className="chip on"
          aria-label={`Remove the filter ${words(filter)}`}
          title="Remove this filter"
        >
          <span className="quiet">
            {lookOf(filter.name).label}
            {filter.isExcluding && ' not'}
          </span>{' '}
          <span className="cut">{filter.values.join(', ')}</span>
          <Icon name="cross" />
        </ViewLink>
      ))}
      <button type="button" className="chip add" onClick={() => setAdding(true)}>
        <Icon name="filter" />
        Add a filter
      </button>
      <CopyButton text={location.href} label="Copy the address of this view" className="push" />
      {isAdding && (
        <Dialog title="Add a filter" onClose={() => setAdding(false)}>
          <FilterForm
            looking={looking}
            onAdd={(name, value, isExcluding) => {
              setAdding(false);
              look(withValue(view, name, value, isExcluding));
            }}
            onCancel={() => setAdding(false)}
          />
        </Dialog>
      )}
    </div>
  );
}

const words = ({ name, values, isExcluding }: Filter) => `${lookOf(name).label} ${isExcluding ? 'not ' : ''}${values.join(', ')}`;

interface FilterFormProps {
  looking: Looking;
  onAdd(name: FilterName, value: string, isExcluding: boolean): void;
  onCancel(): void;
}

function FilterForm({ looking, onAdd, onCancel }: FilterFormProps) {
  const [nameId, valueId, listId] = [useId(), useId(), useId()];
  const names = filtersOf(looking.view.view ?? 'transactions');
  const [name, setName] = useState<FilterName>(names[0] ?? 'applications');
  const suggestions = useSuggestions(looking, name);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const typed = form.get('value');
    const value = typeof typed === 'string' ? typed.trim() : '';
    if (value !== '') onAdd(name, value, form.get('mode') === 'not');
  };
  return (
    <form onSubmit={submit}>
      <div className="dialog-body">
        <div className="field">
          <label htmlFor={nameId}>What</label>
          <select id={nameId} className="input" value={name} onChange={({ target }) => setName(target.value as FilterName)}>
            {names.map((each) => (
              <option key={each} value={each}>
                {lookOf(each).label}
              </option>
            ))}
          </select>
        </div>
        <div className="segments" role="group" aria-label="Which">
          <label>
            <input type="radio" name="mode" value="only" defaultChecked />
            Only
          </label>
          <label>
            <input type="radio" name="mode" value="not" />
            All but
          </label>
        </div>
        <div className="field">
          <label htmlFor={valueId}>Value</label>
          <input
            key={name}
            id={valueId}
            className="input mono"
            name="value"
            list={listId}
            autoComplete="off"
            spellCheck={false}
            required
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- the field of a dialog that was asked for
            autoFocus
          />
          <datalist id={listId}>
            {suggestions.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </datalist>
          <span className="hint">{suggestions.length === 0 ? 'As whoever reports it says it.' : `Such as ${suggestions[0]}.`}</span>
        </div>
      </div>
      <div className="dialog-foot">
        <button type="button" className="button quiet" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="button primary">
          Add the filter
        </button>
      </div>
    </form>
  );
}

/** What can be, or else what was found of it in the same time. */
function useSuggestions({ project, environment, entrypoint, view, asked }: Looking, name: FilterName): string[] {
  const question = { project, environment, entrypoint, asked };
  const kind = view.view ?? 'transactions';
  const isFromTransactions = kind === 'transactions' && name === 'transactions';
  const { data: breakdown } = useQuery({ ...breakdownQuery(question), enabled: isFromTransactions });
  const { data: traffic } = useQuery({ ...trafficQuery(question, 'urls'), enabled: kind === 'http' });
  const { choices } = lookOf(name);
  if (choices) return [...choices];
  const { webapps, workers, services } = environment.sizing;
  if (name === 'applications') return Object.keys({ ...webapps, ...workers });
  if (name === 'services') return [...Object.keys({ ...webapps, ...workers, ...services }), 'router'];
  if (isFromTransactions) return breakdown?.transactions.data.map(({ transaction }) => transaction) ?? [];
  return traffic?.filters?.fields[name]?.values.map(({ value }) => value) ?? [];
}
