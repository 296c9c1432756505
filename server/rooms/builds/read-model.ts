/** From a commit to what is to be deployed: what its configuration says, or, where it has none, what its files let guess. */
import { catalogue } from '../../catalogue/catalogue.ts';
import type { Platform } from '../../platform.ts';
import { Problem } from '../../kernel/problem.ts';
import { cronSettingsOf, projectById, settingsOf } from '../projects/public.ts';
import { isConfigured } from './config/families.ts';
import { imagesOf } from './config/images.ts';
import { printMessages } from './config/message.ts';
import type { ProjectModel } from './config/model.ts';
import { proposeConfiguration, type Proposal } from './config/propose-configuration.ts';
import { readConfiguration } from './config/read-configuration.ts';
import { openSourceTree } from './source-tree.ts';

export interface ReadModel {
  model: ProjectModel;
  /** Lines for the log. */
  warnings: string[];
  /** Where the commit has no configuration: what was guessed and why, and the file that would say the same; lines for the log. */
  proposal?: string;
}

/** Undefined: nothing in the commit says, or lets guess, what to run. Throws a Problem that lists every mistake. */
export async function readModel(
  { git, db, config }: Pick<Platform, 'git' | 'db' | 'config'>,
  projectId: string,
  commit: string,
): Promise<ReadModel | undefined> {
  const [tree, project] = await Promise.all([openSourceTree(git, projectId, commit), projectById(db, projectId)]);
  if (!project) throw new Problem('not-found', 'No such project.');
  const settings = settingsOf(project, config);
  const scriptsByDefault = settings['locations_script_default'] === true;
  const options = { images: imagesOf(catalogue), scriptsByDefault, cronMinutesMin: cronSettingsOf(settings).intervalMinutesMin };
  if (!(await isConfigured(tree))) return guessed(await proposeConfiguration(tree, options));
  const { model, errors, warnings } = await readConfiguration(tree, options);
  if (!model) throw new Problem('invalid-request', mistakes(printMessages({ errors, warnings: [] })));
  return { model, warnings: linesOf(printMessages({ warnings })) };
}

function guessed(proposal: Proposal | undefined): ReadModel | undefined {
  if (!proposal) return undefined;
  const { model, recognised, because, file, yaml } = proposal;
  const lines = [`No configuration found; ${because} says that this is ${recognised}. To change how it runs, begin with this ${file}:`];
  return { model, warnings: [], proposal: [...lines, ...linesOf(yaml).map((line) => `    ${line}`)].join('\n') };
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

/** The `E: ` in front is left out, because whoever shows a Problem marks it as an error. */
const mistakes = (printed: string) => printed.replace(/^E: /, '').trimEnd();
