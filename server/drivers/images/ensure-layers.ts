/**
 * The layers of an image, side by side as far as they can be: packages are put on top of others, and most of the rest only adds files. The first that fails
 * stops the others.
 */
import type { LayerRecord } from './layer-cache.ts';
import type { Layer } from './recipe.ts';

export type EnsureLayer = (layer: Layer, index: number, signal: AbortSignal) => Promise<LayerRecord>;

export async function ensureLayers(layers: readonly Layer[], ensure: EnsureLayer, signal: AbortSignal): Promise<LayerRecord[]> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const ensured = new Map<string, Promise<LayerRecord>>();
  for (const [index, layer] of layers.entries()) {
    const below = layer.below.flatMap((hash) => ensured.get(hash) ?? []);
    const one = Promise.all(below).then(() => ensure(layer, index, either));
    one.catch((error: unknown) => stop.abort(error));
    ensured.set(layer.hash, one);
  }
  await Promise.allSettled(ensured.values());
  stop.signal.throwIfAborted();
  return Promise.all(ensured.values());
}
