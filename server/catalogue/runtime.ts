/** What the catalogue says of a runtime beside its image: what is done for apps that are written in it, unless they say otherwise. */
export interface Runtime {
  /** Variables of every container of the type. */
  env?: Readonly<Record<string, string>>;
  flavor?: Flavor;
  fastcgi?: FastCgi;
  extensions?: Extensions;
  settings?: SettingsFile;
}

/** Installs what an app needs to be built. */
export interface Flavor {
  /** What the configuration calls it. */
  name: 'composer' | 'default';
  /** Without this file there is nothing to install. */
  file: string;
  script: string;
}

/** What answers requests where an app has no command to start. */
export interface FastCgi {
  program: (version: string) => string;
  /** Gets what is no file, where an app has no locations. */
  script: string;
}

/** What can be loaded into the runtime. */
export interface Extensions {
  /** In the program itself: always there. */
  builtIn: readonly string[];
  /** Loaded unless the app disables them. */
  usual: readonly string[];
  /** Loaded when the app asks for them. */
  others: readonly string[];
  /** By which the runtime is told. */
  env: (chosen: ChosenExtensions) => Readonly<Record<string, string>>;
}

export interface ChosenExtensions {
  extensions: readonly { name: string }[];
  disabled_extensions: readonly string[];
}

/** A file in which the runtime finds its settings. */
export interface SettingsFile {
  path: string;
  /** Variables whose names begin so are settings. */
  prefix: string;
}
