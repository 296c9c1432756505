/** The exact commands by which a project gets its first code: with Git alone, or with the released client. */

export interface PushCommands {
  project: string;
  branch: string;
  /** Where the platform is, such as `https://localhost:8443`. */
  origin: string;
  /** Undefined: whoever copies the commands fills one in. */
  token: string | undefined;
  /** The certificate that Git has to trust, as PEM; undefined where it does already. */
  authority: string | undefined;
}

const certificateFile = '~/offshoot.crt';

/** Git finds the token in the address of the remote. A shell puts in whatever API_TOKEN is, if the page does not know one. */
const remoteOf = ({ project, origin, token }: PushCommands) => {
  const { protocol, host } = new URL(origin);
  return `${protocol}//x:${token ?? '$API_TOKEN'}@${host}/git/${project}.git`;
};

export const trustCommands = ({ origin, authority }: PushCommands): string | undefined =>
  authority === undefined
    ? undefined
    : `cat >${certificateFile} <<'END'\n${authority.trim()}\nEND\ngit config --global http.${origin}/.sslCAInfo ${certificateFile}`;

export const exampleCommands = ({ branch }: Pick<PushCommands, 'branch'>): string =>
  [
    `cp -r examples/guestbook ~/guestbook && cd ~/guestbook && git init -b ${branch}`,
    `git add . && git -c user.name=Me -c user.email=me@example.org commit -m 'A guestbook'`,
  ].join('\n');

export const gitCommands = (commands: PushCommands): string =>
  [`git remote add offshoot ${remoteOf(commands)}`, `git push offshoot ${commands.branch}`].join('\n');

export const clientCommands = ({ project }: Pick<PushCommands, 'project'>): string =>
  [`upsun project:set-remote ${project}`, 'upsun push --yes'].join('\n');

export const clientSetUp = (token: string | undefined): string =>
  [
    'npm install --prefix ~/.offshoot-cli @upsun/cli-linux-x64@5.11.1',
    './offshoot cli-config',
    'export PATH=~/.offshoot-cli/node_modules/@upsun/cli-linux-x64/bin:$PATH',
    'export CLI_CONFIG_FILE=~/.offshoot-cli/offshoot.yaml SSL_CERT_FILE=~/.offshoot-cli/offshoot.pem',
    ...(token === undefined ? ['upsun login'] : [`export UPSUN_CLI_TOKEN=${token}`]),
  ].join('\n');
