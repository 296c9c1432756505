/** The backups of an environment: whether each can be relied on, and the way back to it. */
import { useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../../actions/deed-button.tsx';
import type { Told } from '../../../actions/link-form.tsx';
import { type Backup, backupsQuery } from '../../../api/backup-queries.ts';
import { hrefOf } from '../../../api/link.ts';
import { useProjectChanged } from '../../../api/use-project-changed.ts';
import { Age, exactTime } from '../../../ui/age.tsx';
import { megabytesText } from '../../../ui/amounts.ts';
import { Badge, type Standing } from '../../../ui/status.tsx';
import { actionsColumn, curlOf, List } from '../../list-page.tsx';
import { useTitle } from '../../page.tsx';
import { type OfEnvironment, useEnvironment } from '../use-environment.ts';
import { RestoreButton } from './restore-button.tsx';
import './backups.css';

export function BackupsPage() {
  const of = useEnvironment();
  useTitle(of && `Backups of ${of.environment.id}`);
  return of && <Backups {...of} />;
}

function Backups({ project, environment }: OfEnvironment) {
  const { data: backups, error } = useQuery(backupsQuery(project, environment));
  const changed = useProjectChanged(project);
  const createButton = (look: string) => (
    <DeedButton
      resource={environment}
      rel="#backup"
      verb="Back up"
      title={
        <>
          Back up <code>{environment.id}</code>
        </>
      }
      icon="backup"
      look={look}
      onDone={changed}
    />
  );
  return (
    <List
      title="Backups"
      hasHeading
      about="Data, code and configuration of one moment, read back from the store before they count."
      button={createButton('button')}
      rows={backups}
      error={error}
      look="backups"
      columns={['Moment', 'State', 'Kind', { number: 'Data' }, 'Code', 'Kept', actionsColumn]}
      empty={{
        says: (
          <>
            <h3>No backups yet</h3>
            <p>
              A backup holds the data of <code>{environment.id}</code>, what ran, and how, at one moment. It takes copies in milliseconds,
              and is then read back from the store before it counts.
            </p>
          </>
        ),
        button: createButton('button primary'),
        cli: `upsun backup:create --environment ${environment.id}`,
        curl: curlOf('POST', hrefOf(environment, '#backup'), { safe: true }),
      }}
    >
      {(backup) => <BackupRow key={backup.id} project={project} environment={environment} backup={backup} />}
    </List>
  );
}

/** Whether a backup can be relied on, in a word, and why. */
export function stateOf({ status, restorable, is_damaged }: Backup): { standing: Standing; word: string; why: string } {
  if (status === 'DELETING') return { standing: 'inactive', word: 'Being deleted', why: 'The last of it is taken out of the store.' };
  if (is_damaged)
    return { standing: 'failed', word: 'Damaged', why: 'What is stored does not read back as it was written, so it cannot be restored.' };
  if (restorable) return { standing: 'active', word: 'Verified', why: 'All of it was read back from the store.' };
  return { standing: 'building', word: 'Being made', why: 'It counts once all of it was read back from the store.' };
}

function BackupRow({ project, environment, backup }: OfEnvironment & { backup: Backup }) {
  const changed = useProjectChanged(project);
  const { standing, word, why } = stateOf(backup);
  const moment = backup.created_at === null ? 'not taken yet' : exactTime(backup.created_at);
  return (
    <tr>
      <th scope="row">
        {backup.created_at === null ? 'Being taken' : <Age of={backup.created_at} ago />}
        <span className="under">{moment}</span>
      </th>
      <td data-label="State" title={why}>
        <Badge of={standing}>{word}</Badge>
        <span className="unseen">: {why}</span>
      </td>
      <td data-label="Kind">
        {backup.automated ? `automated${backup.index === null ? '' : `, no. ${backup.index}`}` : 'by hand'}
        <span className="under">{backup.safe ? 'requests waited' : 'nothing waited'}</span>
      </td>
      <td data-label="Data" className="number">
        {backup.size_used === null ? '' : megabytesText(backup.size_used)}
        {backup.size_of_volumes !== null && <span className="under">on {megabytesText(backup.size_of_volumes)} of disk</span>}
      </td>
      <td data-label="Code">
        <code>{backup.commit_id.slice(0, 7)}</code>
      </td>
      <td data-label="Kept">{backup.expires_at === null ? 'until it is deleted or replaced' : <>until {exactDay(backup.expires_at)}</>}</td>
      <td className="end">
        <span className="row">
          <RestoreButton project={project} environment={environment} backup={backup} moment={moment} />
          <DeedButton
            resource={backup}
            rel="#delete"
            verb="Delete"
            label={`Delete the backup of ${moment}`}
            title="Delete a backup"
            look="button tiny quiet"
            told={() => deleting(moment)}
            onDone={changed}
          />
        </span>
      </td>
    </tr>
  );
}

const deleting = (moment: string): Told => ({
  effects: [{ kind: 'lost', what: `The backup of ${moment} is gone for good`, more: 'The environment stays as it is.' }],
});

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const exactDay = (time: string) => day.format(new Date(time));
