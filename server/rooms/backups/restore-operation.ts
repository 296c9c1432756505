import { Type } from 'typebox';
import { operation, updated } from '../../kernel/operation.ts';
import { closed, nullable } from '../../kernel/schema.ts';
import { BackupEntity } from './backup.ts';
import { mayRestore, noRestore, startRestore } from './start-restore.ts';

const nameCharactersMax = 250;
const Name = (description: string) => Type.Optional(nullable(Type.String({ minLength: 1, maxLength: nameCharactersMax, description })));

export const restoreBackup = operation({
  summary: 'Restore a backup: its data and what ran then, into its environment, another one, or a new one',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/backups/{backupId}/restore',
  on: BackupEntity,
  rel: '#restore',
  permission: 'environment:admin',
  allowedWhen: mayRestore,
  otherwise: noRestore,
  body: closed({
    environment_name: Name(
      'The environment to restore into; by default the one that the backup was made of. One that does not exist is made; one that is paused or inactive runs afterwards. What is staged there stays staged.',
    ),
    branch_from: Name('What a new environment is branched off; by default the one that the backup was made of.'),
    restore_code: Type.Optional(
      Type.Boolean({
        description:
          'With `true` (default), the code of the backup runs again, in the same environment with its variables of that time. With `false`, what runs now goes on with the data of the backup. The repository does not change.',
      }),
    ),
    restore_resources: Type.Optional(
      Type.Boolean({ description: 'Whether existing containers get the sizes that they had in the backup (default: `true`).' }),
    ),
    resources: Type.Optional(
      Type.Unsafe<{ init?: 'backup' | 'default' | 'minimum' | 'parent' | null } | null>({
        type: ['object', 'null'],
        properties: {
          init: {
            type: ['string', 'null'],
            enum: ['backup', 'default', 'minimum', 'parent', null],
            description: 'Where containers that are new get their sizes from; disks are always large enough for the data.',
          },
        },
        additionalProperties: false,
      }),
    ),
  }),
  example: { restore_code: true, restore_resources: false },
  returns: updated(BackupEntity),
  handle: ({ target, body, caller }, platform) => startRestore(platform, target, body, caller),
});
