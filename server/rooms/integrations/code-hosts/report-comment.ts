/**
 * The one comment that a pull request has from us, in Markdown: how its environment is, where it answers, what is different in it, and what it takes. It tells
 * no amount of money, because an installation charges none. Texts that others chose are shown as code, so that nobody writes links or mentions in our name.
 */

export interface CommentFacts {
  environment: string;
  state: CommentState;
  /** The commit at the head of the pull request. */
  commit: string;
  parent: string | null;
  commitsAhead: number | null;
  addresses: readonly string[];
  /** Apps and services that are others than those of the parent; undefined where the two cannot be compared. */
  changed: readonly string[] | undefined;
  containers: readonly ContainerFacts[];
  /** What it was charged with so far, in micrograms of CO2 equivalent; 0 where nothing was accounted yet. */
  emissions: number;
  /** Where the log of the last activity is. */
  log: string | undefined;
  /** A commit that somebody has to approve before it is built. */
  waitsFor: string | undefined;
  /** Who can do that, and how. */
  approval: string;
}

export type CommentState = 'waits-for-approval' | 'is-deploying' | 'failed' | 'runs' | 'paused' | 'inactive' | 'gone';

export interface ContainerFacts {
  name: string;
  kind: 'app' | 'worker' | 'service';
  type: string;
  cpu: number;
  /** In MB. */
  memory: number;
  /** In MB; null where it has none. */
  disk: number | null;
  instances: number;
}

const headings: Readonly<Record<CommentState, (environment: string) => string>> = {
  'waits-for-approval': () => 'This pull request comes from a fork, and waits for an approval',
  'is-deploying': (environment) => `${environment} is being deployed`,
  failed: (environment) => `${environment} could not be deployed`,
  runs: (environment) => `${environment} is running`,
  paused: (environment) => `${environment} is paused`,
  inactive: (environment) => `${environment} is not active`,
  gone: (environment) => `${environment} has been removed`,
};

export function commentText(facts: CommentFacts): string {
  const heading = `### ${headings[facts.state](code(facts.environment))}`;
  const waiting = facts.waitsFor === undefined ? [] : [waitingText(facts.waitsFor, facts.approval), ''];
  if (facts.state === 'waits-for-approval' || facts.state === 'gone') return [heading, '', ...waiting].join('\n');
  const rows = rowsOf(facts).map(([title, text]) => `| ${title} | ${text} |`);
  return [
    heading,
    '',
    ...waiting,
    '|  |  |',
    '| --- | --- |',
    ...rows,
    '',
    ...resourcesOf(facts.containers),
    ...carbonOf(facts.emissions),
  ].join('\n');
}

const waitingText = (commit: string, approval: string) =>
  `Nothing of ${code(short(commit))} is built, and it gets neither secrets nor data, until somebody approves it. ${approval}`;

function rowsOf({ addresses, commit, parent, commitsAhead, changed, log }: CommentFacts): [string, string][] {
  const ahead = commitsAhead === null || parent === null ? '' : `, ${counted(commitsAhead, 'commit')} ahead of ${code(parent)}`;
  return [
    ...listed('Addresses', addresses.map((address) => `<${address}>`).join('<br>')),
    ['Commit', code(short(commit)) + ahead],
    ...listed('Different here', changed?.map(code).join(', ') ?? ''),
    ...listed('Log', log === undefined ? '' : `<${log}>`),
  ];
}

const listed = (title: string, text: string): [string, string][] => (text === '' ? [] : [[title, text]]);

/** What the environment takes of the installation. */
function resourcesOf(containers: readonly ContainerFacts[]): string[] {
  if (containers.length === 0) return [];
  const sum = (amount: (container: ContainerFacts) => number) => containers.reduce((total, each) => total + amount(each), 0);
  const rows = containers.map(({ name, kind, type, cpu, memory, disk, instances }) => [
    `${kind} ${code(name)}`,
    code(type),
    instances,
    rounded(cpu * instances),
    `${memory * instances} MB`,
    disk === null ? '' : `${disk} MB`,
  ]);
  const total = [
    '**All**',
    '',
    sum(({ instances }) => instances),
    rounded(sum(({ cpu, instances }) => cpu * instances)),
    `${sum(({ memory, instances }) => memory * instances)} MB`,
    `${sum(({ disk }) => disk ?? 0)} MB`,
  ];
  return [
    'What it takes:',
    '',
    '| Container | Type | Instances | CPU | Memory | Disk |',
    '| --- | --- | --: | --: | --: | --: |',
    ...[...rows, total].map((row) => `| ${row.join(' | ')} |`),
    '',
  ];
}

const microgramsInGram = 1_000_000;

const carbonOf = (emissions: number): string[] =>
  emissions === 0 ? [] : [`Carbon so far: ${(emissions / microgramsInGram).toPrecision(2)} g of CO2 equivalent, up to yesterday.`, ''];

const rounded = (cpu: number) => Math.round(cpu * 100) / 100;
const counted = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;
const commitCharacters = 8;
const short = (commit: string) => commit.slice(0, commitCharacters);
/** A bar would end the cell of a table, a backtick the code. */
const code = (text: string) => `\`${text.replaceAll(/[`|\r\n]/g, ' ')}\``;
