/** What is shown of the audit; each choice is part of the address of the page. */
import { useId } from 'react';
import type { AuditFilter } from '../../api/audit-queries.ts';

interface Choice {
  value: string;
  word: string;
}

/** The kinds of things that are asked about most, as the API calls them. */
const kinds: readonly Choice[] = [
  { value: 'organization', word: 'Organization' },
  { value: 'organization member', word: 'Members' },
  { value: 'organization invitation', word: 'Invitations' },
  { value: 'team', word: 'Teams' },
  { value: 'team member', word: 'Members of teams' },
  { value: 'user access', word: 'Access of people' },
  { value: 'team access', word: 'Access of teams' },
  { value: 'project', word: 'Projects' },
  { value: 'environment', word: 'Environments' },
  { value: 'project variable', word: 'Variables of projects' },
  { value: 'environment variable', word: 'Variables of environments' },
  { value: 'domain', word: 'Domains' },
  { value: 'integration', word: 'Integrations' },
  { value: 'backup', word: 'Backups' },
  { value: 'API token', word: 'API tokens' },
  { value: 'SSH key', word: 'SSH keys' },
  { value: 'second factor', word: 'Second factors' },
  { value: 'user', word: 'Accounts' },
];

interface Filters {
  filter: AuditFilter;
  people: readonly Choice[];
  projects: readonly Choice[];
  onChange(filter: AuditFilter): void;
}

export function AuditFilters({ filter, people, projects, onChange }: Filters) {
  const set = (name: keyof AuditFilter) => (value: string) => {
    const { [name]: _, ...others } = filter;
    onChange(value === '' ? others : { ...others, [name]: value });
  };
  return (
    <div className="filters" role="group" aria-label="Filters">
      <OneOf label="Person" all="Everybody" choices={people} value={filter.person} onChange={set('person')} />
      <OneOf label="Kind" all="Everything" choices={kinds} value={filter.kind} onChange={set('kind')} />
      <OneOf label="Project" all="All projects" choices={projects} value={filter.project} onChange={set('project')} />
      <Day label="From" value={filter.from} onChange={set('from')} />
      <Day label="To" value={filter.to} onChange={set('to')} />
    </div>
  );
}

interface OneOf {
  label: string;
  all: string;
  choices: readonly Choice[];
  value: string | undefined;
  onChange(value: string): void;
}

function OneOf({ label, all, choices, value = '', onChange }: OneOf) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} className="input" value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">{all}</option>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.word}
          </option>
        ))}
        {value !== '' && !choices.some((choice) => choice.value === value) && <option value={value}>{value}</option>}
      </select>
    </div>
  );
}

function Day({ label, value = '', onChange }: { label: string; value: string | undefined; onChange(value: string): void }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input id={id} className="input" type="date" value={value} onChange={({ target }) => onChange(target.value)} />
    </div>
  );
}
