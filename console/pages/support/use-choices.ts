/** What categories and priorities are called, by their ids, as the API lists them; `told` says also what a priority is for. */
import { useQuery } from '@tanstack/react-query';
import { choicesQuery } from '../../api/ticket-queries.ts';

export function useChoices() {
  const { data: categories = [] } = useQuery(choicesQuery('category'));
  const { data: priorities = [] } = useQuery(choicesQuery('priority'));
  const category = Object.fromEntries(categories.map(({ id, label }) => [id, label]));
  const priority = Object.fromEntries(priorities.map(({ id, label }) => [id, label]));
  const told = Object.fromEntries(
    priorities.map(({ id, label, short_description }) => [id, short_description === undefined ? label : `${label}: ${short_description}`]),
  );
  return { category, priority, told };
}
