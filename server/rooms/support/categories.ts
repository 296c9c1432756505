/** What a ticket can be about, and how urgent it can be: the published lists. */
export const ticketTypes = ['problem', 'task', 'incident', 'question'];

interface Category {
  label: string;
  /** What a ticket of the category is to those who help. */
  type: string;
}

export const categories: Record<string, Category> = {
  access: { label: 'Access', type: 'task' },
  billing_question: { label: 'Billing question', type: 'question' },
  complaint: { label: 'Complaint', type: 'question' },
  compliance_question: { label: 'Compliance question', type: 'question' },
  configuration_change: { label: 'Configuration change', type: 'task' },
  general_question: { label: 'General question', type: 'question' },
  incident_outage: { label: 'Incident or outage', type: 'incident' },
  bug_report: { label: 'Bug report', type: 'problem' },
  report_a_gui_bug: { label: 'Bug in the console', type: 'problem' },
  onboarding: { label: 'Onboarding', type: 'task' },
  close_my_account: { label: 'Close my account', type: 'task' },
};

export const categoryDefault = 'general_question';

export const priorities = [
  {
    id: 'low',
    label: 'Low',
    short_description: 'A question or a wish',
    description: 'Nothing is broken: a question, a wish, or something that can wait.',
  },
  {
    id: 'normal',
    label: 'Normal',
    short_description: 'Something does not work as it should',
    description: 'Something does not work as it should, and there is a way around it.',
  },
  {
    id: 'high',
    label: 'High',
    short_description: 'Something important does not work',
    description: 'Something important does not work, and there is no way around it; production still serves.',
  },
  {
    id: 'urgent',
    label: 'Urgent',
    short_description: 'Production is down',
    description: 'Production does not serve, or data is about to be lost.',
  },
];

export const priorityDefault = 'normal';
