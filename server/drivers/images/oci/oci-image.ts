/** An image that somebody else made, as it is kept here. */
import type { Image } from '../images.ts';
import type { Credentials } from './registry.ts';

/** What it takes to have an image of a registry. */
export interface RegistryAccess {
  credentials?: Credentials;
  /** PEM. The image has to be signed with its private half. */
  publicKey?: string;
}

export interface OciImage extends Image {
  /** As it was asked for, with its registry: `docker.io/library/redis:8`. */
  reference: string;
  /** Of the manifest for this machine. */
  digest: string;
  /** Digests of what is in each layer, the lowest first. */
  diffIds: readonly string[];
  config: OciConfig;
}

/** How an image wants to be run. */
export interface OciConfig {
  entrypoint: string[];
  cmd: string[];
  env: Record<string, string>;
  workingFolder: string;
  /** As written: `''`, `999`, `redis:redis`. */
  user: string;
  /** TCP only, the lowest first. */
  ports: number[];
  volumes: string[];
}
