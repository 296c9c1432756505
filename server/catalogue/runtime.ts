/** What the catalogue says of a runtime beside its image: what is done for apps that are written in it, unless they say otherwise. */
export interface Runtime {
  /** Environment variables that every container of the type has. */
  env?: Readonly<Record<string, string>>;
  flavor?: Flavor;
  fastcgi?: FastCgi;
  /** The extensions that a version of the runtime has. */
  extensions?: (version: string) => Extensions;
  settings?: SettingsFile;
}

/** The usual way to install the dependencies of an app, before its build hook. */
export interface Flavor {
  /** The name of the flavor in the configuration of an app. */
  name: 'composer' | 'default';
  /** The file that lists the dependencies; without it there is nothing to install. */
  file: string;
  script: string;
}

/** What answers requests where an app has no command to start. */
export interface FastCgi {
  program: (version: string) => string;
  /** The script that answers requests for which there is no file, when an app has no locations. */
  script: string;
}

/** The extensions that there are, beside whatever an app brings itself. */
export interface Extensions {
  /** Extensions that are compiled into the runtime, and always there. */
  builtIn: readonly string[];
  /** Extensions that are loaded unless the app disables them. */
  usual: readonly string[];
  /** Extensions that are loaded when the app asks for them. */
  others: readonly string[];
  /** The environment variables that tell the runtime which extensions to load. */
  env: (chosen: ChosenExtensions) => Readonly<Record<string, string>>;
}

export interface ChosenExtensions {
  extensions: readonly { name: string }[];
  disabled_extensions: readonly string[];
}

/** A file in which the runtime finds its settings. */
export interface SettingsFile {
  path: string;
  /** Variables whose names begin with this prefix are written to the file as settings. */
  prefix: string;
}
