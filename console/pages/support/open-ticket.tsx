/** The button for a new ticket, with its form: what it is about, how urgent it is, in which words, and files. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { DeedButton } from '../../actions/deed-button.tsx';
import type { Body } from '../../actions/link-form.tsx';
import type { Resource } from '../../api/link.ts';
import type { Ticket } from '../../api/ticket-queries.ts';
import { AttachFiles, attachedIn, type AttachedFile } from './attach-files.tsx';
import { useChoices } from './use-choices.ts';

interface OpenTicket {
  of: Resource;
  /** What is decided already, such as the organization, or the ticket that it follows up. */
  about?: Body | undefined;
  says?: string;
}

export function OpenTicket({ of, about, says = 'Open a ticket' }: OpenTicket) {
  const { category, told } = useChoices();
  const [files, setFiles] = useState<readonly AttachedFile[]>([]);
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <DeedButton
      resource={of}
      rel="create-ticket"
      says={says}
      verb="Open the ticket"
      title={says}
      look="button primary"
      summary="Those who run this installation are told by mail, and so are you when they answer."
      {...(about && { given: about })}
      asks={['subject', 'category', 'priority', 'description', 'affected_url']}
      suggests={{ category: 'general_question', priority: 'normal' }}
      words={{ category, priority: told }}
      more={{ fields: <AttachFiles files={files} onChange={setFiles} />, body: () => attachedIn(files) }}
      onDone={(ticket) => {
        setFiles([]);
        void queries.invalidateQueries({ queryKey: ['tickets'] });
        void navigate({ to: '/support/$ticket', params: { ticket: String((ticket as Ticket).ticket_id) } });
      }}
    />
  );
}
