/** Operator commands: what the person who runs the machine can do without a token. They work beside a running platform and without one. */
import { join } from 'node:path';
import { readConfig } from '../server/config.ts';
import { endWithSentence } from '../server/process.ts';
import { readArguments, refuseSurplus, standardInput, usage, WrongUsage, type Arguments } from './usage.ts';

type Command = (given: Arguments) => Promise<void>;

/** Each loads what it needs when it is asked for: all that there is takes a second. */
const commands: Record<string, Command> = {
  'user create': async (given) => (await import('./user.ts')).createUser(given),
  'user password': async (given) => (await import('./user.ts')).changePassword(given),
  'user mfa-off': async ({ words }) => (await import('./user.ts')).turnSecondFactorOff(words),
  'user list': async () => (await import('./user.ts')).listUsers(),
  'token create': async ({ words }) => (await import('./user.ts')).createToken(words),
  sessions: async () => (await import('./sessions.ts')).listSessions(),

  'cli-config': async ({ words }) => (await import('./client-config.ts')).writeClientConfiguration(words),
  ca: async () => (await import('./authority.ts')).showAuthority(),
  'acme rollover': async () => (await import('./acme.ts')).rollAccountsOver(),

  'organization limit': async ({ words }) => (await import('./organization.ts')).limitUsers(words),
  'organization suspend': async ({ words }) => (await import('./organization.ts')).suspend(words),
  'organization resume': async ({ words }) => (await import('./organization.ts')).resume(words),
  'ticket list': async () => (await import('./ticket.ts')).listTickets(),
  'ticket show': async ({ words }) => (await import('./ticket.ts')).showTicket(words),
  'ticket answer': async ({ words }) => (await import('./ticket.ts')).answerTicket(words, standardInput),
  'ticket close': async ({ words }) => (await import('./ticket.ts')).closeTicketAt(words),
  'quota set': async ({ words }) => (await import('./quota.ts')).showChangedQuota(words),
  'quota list': async () => (await import('./quota.ts')).listQuotas(),

  'prices show': async () => (await import('./prices.ts')).showPrices(),
  'prices set': async ({ words }) => (await import('./prices.ts')).setPrices(words),

  'invoice list': async ({ flags }) => (await import('./invoice.ts')).listInvoices(flags.all ?? false),
  'invoice paid': async ({ words }) => (await import('./invoice.ts')).payInvoice(words),
  'invoice correct': async ({ words }) => (await import('./invoice.ts')).correct(words),
  'voucher create': async ({ words }) => (await import('./voucher.ts')).createVoucher(words),
  'voucher list': async () => (await import('./voucher.ts')).listVouchers(),
  'discount create': async ({ words }) => (await import('./discount.ts')).createDiscount(words),
  'discount list': async () => (await import('./discount.ts')).listDiscounts(),
  'discount end': async ({ words }) => (await import('./discount.ts')).endDiscountAt(words),
  'prepayment add': async ({ words }) => (await import('./prepayment.ts')).prepay(words),
  'prepayment take': async ({ words }) => (await import('./prepayment.ts')).giveBack(words),
  'prepayment fallback': async ({ words }) => (await import('./prepayment.ts')).chooseFallback(words),

  'deployment list': async ({ words }) => (await import('./deployments.ts')).listDeployments(words),
  rollback: async ({ words }) => (await import('./deployments.ts')).rollBack(words),

  'backup list': async ({ words }) => (await import('./backup.ts')).listBackups(words),
  'backup verify': async ({ words }) => (await import('./backup.ts')).verifyBackups(words),
  'backup repair': async ({ words }) => (await import('./backup.ts')).repairBackups(words),
  'backup export': async ({ words }) => (await import('./backup-file.ts')).exportBackup(words),
  'backup import': async ({ words, flags }) => (await import('./backup-file.ts')).importBackup(words, flags, standardInput),
  'backup platform': async ({ flags }) => (await import('./backup.ts')).backUpThePlatform(flags.to),
  'backup key': async () => (await import('./backup.ts')).showKey(),
  'restore platform': async ({ flags }) =>
    (await import('./restore-platform.ts')).restorePlatform({
      from: flags.from,
      backup: flags.backup,
      keyFromInput: flags['key-stdin'] ?? false,
    }),

  import: async ({ words }) => (await import('./import/import.ts')).importHere(words),

  'service-type add': async ({ words }) => (await import('./service-type.ts')).addServiceTypeFrom(words),
  'service-type list': async () => (await import('./service-type.ts')).listServiceTypes(),
  'service-type show': async ({ words }) => (await import('./service-type.ts')).showServiceType(words),
  'service-type remove': async ({ words }) => (await import('./service-type.ts')).removeServiceTypeNamed(words),

  'image list': async () => (await import('./image.ts')).listImages(),
  'image build': async ({ words }) => (await import('./image.ts')).buildImages(words),
  'image update': async () => (await import('./image.ts')).updateImages(),
  'image collect': async () => (await import('./image.ts')).collectImages(),

  shutdown: async () => (await import('./shutdown.ts')).shutDown(readConfig(process.env)),

  install: async () => (await import('./service/commands.ts')).installHere(),
  upgrade: async (given) => (await import('./service/commands.ts')).upgradeHere(given),
  uninstall: async (given) => (await import('./service/commands.ts')).uninstallHere(given),

  schema: async () => (await import('./schema.ts')).writeSchema(join(import.meta.dirname, '..', 'server')),
};

async function main(argv: string[]) {
  const { flags, words } = readArguments(argv);
  if (flags.help) return console.log(usage);
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    const given = { words: words.slice(length), flags };
    const command = commands[name];
    if (!command) continue;
    refuseSurplus(name, given);
    return command(given);
  }
  console.error(usage);
  throw new WrongUsage(words.length === 0 ? 'Say what to do.' : `There is no command ${words.slice(0, 2).join(' ')}.`);
}

const wrongUsageCode = 2;

await main(process.argv.slice(2)).catch((error: Error) => {
  if (!(error instanceof WrongUsage)) return endWithSentence(error);
  console.error(`offshoot: ${error.message}`);
  process.exitCode = wrongUsageCode;
});
