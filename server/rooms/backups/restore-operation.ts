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
      'Where to; without it, what the backup was made of. One that does not exist is made; one that is paused or inactive runs afterwards. What is staged there stays staged.',
    ),
    branch_from: Name('Of an environment that is made: what it is branched off; without it, what the backup was made of.'),
    restore_code: Type.Optional(
      Type.Boolean({
        description:
          'What ran then runs again, with the variables of then where it is the same environment (default); or what runs now goes on, with the data of the backup. The repository does not change.',
      }),
    ),
    restore_resources: Type.Optional(Type.Boolean({ description: 'Containers that are there get their sizes of then (default).' })),
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
