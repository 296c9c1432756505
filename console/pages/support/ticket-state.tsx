/** How far a ticket is, as whoever asked sees it. */
import { Badge, type Standing } from '../../ui/status.tsx';

const states: Readonly<Record<string, { standing: Standing; word: string }>> = {
  new: { standing: 'building', word: 'New' },
  open: { standing: 'building', word: 'With support' },
  pending: { standing: 'paused', word: 'Answered' },
  hold: { standing: 'sleeping', word: 'On hold' },
  solved: { standing: 'active', word: 'Solved' },
  closed: { standing: 'inactive', word: 'Closed' },
};

export function TicketState({ status }: { status: string }) {
  const { standing, word } = states[status] ?? { standing: 'inactive' as const, word: status };
  return <Badge of={standing}>{word}</Badge>;
}
