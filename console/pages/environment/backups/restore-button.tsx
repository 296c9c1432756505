/** The way back to a backup. What is destroyed depends on where it goes: into this environment, another one, or one that is made for it. */
import { useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../../actions/deed-button.tsx';
import { ofAllThatKeepsSome } from '../../../actions/environment-effects.tsx';
import type { Body, Told } from '../../../actions/link-form.tsx';
import type { Backup } from '../../../api/backup-queries.ts';
import { environmentsQuery } from '../../../api/queries.ts';
import type { Environment } from '../../../api/resources.ts';
import { useProjectChanged } from '../../../api/use-project-changed.ts';
import type { OfEnvironment } from '../use-environment.ts';

interface RestoreButtonProps extends OfEnvironment {
  backup: Backup;
  moment: string;
}

export function RestoreButton({ project, environment, backup, moment }: RestoreButtonProps) {
  const { data: environments = [] } = useQuery(environmentsQuery(project));
  const changed = useProjectChanged(project);
  return (
    <DeedButton
      resource={backup}
      rel="#restore"
      verb="Restore"
      label={`Restore the backup of ${moment}`}
      title="Restore a backup"
      icon="rollback"
      look="button tiny"
      asks={['environment_name', 'branch_from', 'restore_code', 'restore_resources']}
      suggests={{ environment_name: environment.id }}
      told={(body) => restoring(backup, moment, environments, body)}
      onDone={changed}
    />
  );
}

function restoring(backup: Backup, moment: string, environments: readonly Environment[], body: Body): Told {
  const into = typeof body['environment_name'] === 'string' ? body['environment_name'] : backup.environment;
  const target = environments.find(({ id }) => id === into);
  const withCode = body['restore_code'] !== false;
  return {
    name: into,
    verb: target ? 'Replace the data and restore' : 'Restore into a new environment',
    effects: [
      target
        ? {
            kind: 'lost',
            what: (
              <>
                The data{ofAllThatKeepsSome(target)} in <code>{into}</code> is replaced
              </>
            ),
            more: `What was written there since ${moment} is lost; the old data serves until the new is there.`,
          }
        : {
            kind: 'kept',
            what: (
              <>
                <code>{into}</code> is made for it
              </>
            ),
            more: 'No environment that exists is changed.',
          },
      {
        kind: 'kept',
        what: withCode ? (
          <>
            What ran then runs again: <code>{backup.commit_id.slice(0, 7)}</code>
          </>
        ) : (
          'What runs now goes on with the data of the backup'
        ),
        more: 'The repository does not change; the next push deploys the branch as it is.',
      },
      { kind: 'kept', what: 'Domains and other backups stay' },
    ],
  };
}
