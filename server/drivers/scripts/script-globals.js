/**
 * Runs inside the engine, before the script, and gives it what scripts have beside the language itself: a script has no other way to the outside than `host`, which
 * takes a name and a text, and gives a text.
 */
export default function giveGlobals(host, globals) {
  const { parse, stringify } = JSON;
  const ask = (name, ...given) => {
    const { value, problem } = parse(host(name, stringify(given)));
    if (problem !== undefined) throw new Error(problem);
    return value;
  };

  const shown = (value) => {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return `${value}\n${value.stack}`.trimEnd();
    return stringify(value, undefined, 2) ?? String(value);
  };
  const print = (...values) => ask('print', values.map(shown).join(' '));
  const console = { log: print, info: print, warn: print, error: print, debug: print };

  const fetch = (url, { method = 'GET', headers = {}, body } = {}) => {
    const { text, ...reply } = ask('fetch', String(url), {
      method,
      headers,
      ...(body !== undefined && { body: String(body) }),
    });
    return { ...reply, ok: reply.status >= 200 && reply.status < 300, text: () => text, json: () => parse(text) };
  };

  const algorithms = ['sha256', 'sha1', 'md5'];
  const encodings = new Set(['hex', 'base64', '']);
  const createHmac = (algorithm, key) => {
    if (!algorithms.includes(algorithm)) throw new Error(`There is no algorithm ${algorithm}; use one of ${algorithms.join(', ')}.`);
    let text = '';
    const hmac = {
      update: (more) => {
        text += String(more);
        return hmac;
      },
      digest: (encoding = '') => {
        if (!encodings.has(encoding)) throw new Error(`There is no encoding ${encoding}; use hex, base64 or an empty text.`);
        return ask('hmac', algorithm, String(key), text, encoding);
      },
    };
    return hmac;
  };
  const crypto = { createHmac };

  const storage = {
    get: (key) => ask('getStored', String(key)),
    set: (key, value) => void ask('setStored', String(key), value ?? null),
    remove: (key) => void ask('removeStored', String(key)),
    clear: () => void ask('clearStored'),
  };

  const modules = { storage, crypto };
  const require = (name) => {
    if (!Object.hasOwn(modules, name)) throw new Error(`There is no module ${name}; scripts have storage and crypto.`);
    return modules[name];
  };

  Object.assign(globalThis, { console, fetch, crypto, require }, parse(globals));
}
