/**
 * What can be done to an environment, in the order in which it is offered. Whether a button is there is decided by the link of the same name alone; this
 * table only says how it looks. What a deed does is said by the link.
 */
import type { IconName } from '../ui/icon.tsx';

export interface DeedLook {
  verb: string;
  icon: IconName;
  /** Beside the name of the environment; the others are in its menu. */
  isProminent?: boolean;
  /** Data or code is lost by it. */
  isDangerous?: boolean;
  /** Of use only in a state that one sees at a glance, so elsewhere it is left out, and not shown as impossible. */
  isOccasional?: boolean;
}

export const environmentDeeds: Readonly<Record<string, DeedLook>> = {
  '#branch': { verb: 'Branch', icon: 'branch', isProminent: true },
  '#synchronize': { verb: 'Synchronize', icon: 'sync', isProminent: true },
  '#merge': { verb: 'Merge', icon: 'merge', isProminent: true },
  '#activate': { verb: 'Activate', icon: 'play', isProminent: true, isOccasional: true },
  '#resume': { verb: 'Resume', icon: 'play', isProminent: true, isOccasional: true },
  '#deploy': { verb: 'Deploy what is staged', icon: 'play', isOccasional: true },
  '#backup': { verb: 'Back up', icon: 'backup' },
  '#redeploy': { verb: 'Redeploy', icon: 'sync' },
  '#maintenance-redeploy': { verb: 'Redeploy on the newest images', icon: 'sync' },
  '#pause': { verb: 'Pause', icon: 'pause' },
  '#deactivate': { verb: 'Deactivate', icon: 'power', isDangerous: true },
  '#delete': { verb: 'Delete', icon: 'cross', isDangerous: true },
};

/** What members of an organization may do, as people say it. */
export const organizationWords: Readonly<Record<string, string>> = {
  admin: 'Administer everything',
  billing: 'See and change billing',
  members: 'Manage members and teams',
  plans: 'Change plans of projects',
  'projects:create': 'Create projects',
  'projects:list': 'See all projects in lists',
};

/** Fields of forms, where their names alone would not tell enough. What is sent for a box is what the box shows. */
export interface FieldLook {
  label: string;
  hint?: string;
  isChecked?: boolean;
  /** A box that stands beside others as a card. */
  isCard?: boolean;
  /** Not shown as it is typed. */
  isSecret?: boolean;
  /** Asked for only where it has to be given, though the API could do without. */
  isRequired?: boolean;
  /** Read by people rather than by programs, where it has several lines. */
  isProse?: boolean;
  /** What choices are called. */
  words?: Readonly<Record<string, string>>;
  /** Choices that are other spellings of choices beside them. */
  leavesOut?: readonly string[];
}

export const fieldLooks: Readonly<Record<string, FieldLook>> = {
  name: { label: 'Name' },
  label: { label: 'Name' },
  title: { label: 'Title' },
  type: { label: 'Type' },
  is_default: { label: 'Default' },
  role: { label: 'Role in the project' },
  force: { label: 'Invite again', hint: 'An invitation of this address that waits is taken back first.' },
  clone_parent: { label: 'With a clone of the data', isChecked: true },
  synchronize_code: { label: 'Code', hint: 'commits of the parent', isCard: true, isChecked: true },
  synchronize_data: { label: 'Data', hint: 'a clone of what the parent has now', isCard: true },
  synchronize_resources: { label: 'Resources', hint: 'sizes, instances, disks', isCard: true },
  rebase: { label: 'Rebase the code in place of merging it' },
  'resources.init': { label: 'Resources of new containers' },
  strategy: { label: 'Strategy' },
  environment_name: { label: 'Into the environment' },
  branch_from: { label: 'Branched off' },
  restore_code: { label: 'Restore the code, too', isChecked: true, hint: 'Otherwise what runs now goes on with the data of the backup.' },
  restore_resources: { label: 'Restore the resources, too', isChecked: true, hint: 'Containers get the sizes that they had then.' },
  is_json: { label: 'The value is JSON' },
  is_sensitive: { label: 'Sensitive' },
  is_enabled: { label: 'Enabled', isChecked: true, hint: 'Where it is not, no variable of its name exists here.' },
  is_inheritable: { label: 'Inheritable', isChecked: true, hint: 'Environments that are branched off this one have it, too.' },
  visible_build: { label: 'Seen by builds' },
  visible_runtime: { label: 'Seen by running apps', isChecked: true },
  application_scope: { label: 'Only for these apps' },
  parameters: { label: 'Parameters' },
  first_name: { label: 'First name' },
  last_name: { label: 'Last name' },
  country: { label: 'Country', hint: 'Two letters, such as NL.' },
  current_password: { label: 'Present password', isSecret: true, isRequired: true },
  password: { label: 'New password', isSecret: true, isRequired: true },
  email_address: { label: 'New e-mail address' },
  passcode: { label: 'Passcode', hint: 'The six digits that the app shows now.' },
  security_contact: { label: 'E-mail address for matters of security' },
  email: { label: 'E-mail address' },
  user_id: { label: 'Person' },
  permissions: { label: 'May', words: organizationWords, leavesOut: ['project:create'] },
  projects: { label: 'Projects', hint: 'Empty: as many as there are.' },
  environments: { label: 'Environments' },
  cpu: { label: 'Processors' },
  memory: { label: 'Memory, in MB' },
  disk: { label: 'Disk, in MB' },
  builds: { label: 'Builds at once' },
  activities: { label: 'Activities that wait' },
  code: { label: 'Code' },
  name_line: { label: 'Name on the envelope' },
  thoroughfare: { label: 'Street and number' },
  premise: { label: 'Building or floor' },
  postal_code: { label: 'Postal code' },
  locality: { label: 'Town' },
  administrative_area: { label: 'State or province' },
  company_name: { label: 'Company' },
  legal_entity_name: { label: 'Company, as it is registered' },
  vat_number: { label: 'VAT number' },
  billing_contact: { label: 'Send invoices to', hint: 'An e-mail address; empty: that of the owner.' },
  subject: { label: 'Subject' },
  category: { label: 'Category', isRequired: true },
  priority: { label: 'Priority', isRequired: true },
  affected_url: { label: 'Address that it is about' },
  text: { label: 'Reply', isProse: true },
  description: { label: 'Description', isProse: true },
  status: { label: 'Status' },
  safe: { label: 'Safe: requests wait while the copies are taken' },
};
