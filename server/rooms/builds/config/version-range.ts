/** Ranges of versions as package.json writes them, as far as whole major versions go. */

const partsMax = 20;

/** The newest of the versions that a range lets in; undefined where it lets none of them in, or is not understood. */
export function newestWithin(range: string | undefined, versions: readonly string[]): string | undefined {
  if (range === undefined) return undefined;
  const alternatives = range.split('||').slice(0, partsMax);
  return versions.find((version) => alternatives.some((alternative) => isWithin(Number.parseInt(version, 10), alternative.trim())));
}

/** A major version is within a range if any version of it is. */
function isWithin(major: number, range: string): boolean {
  if (range === '' || range === '*' || range === 'x') return true;
  const between = /^v?(\d+)\S*\s+-\s+v?(\d+)\S*$/.exec(range);
  if (between) return major >= Number(between[1]) && major <= Number(between[2]);
  const conditions = range
    .replaceAll(/([<>=^~]+)\s+/g, '$1')
    .split(/\s+/)
    .slice(0, partsMax);
  return conditions.every((condition) => {
    const [, sign = '', number = '', rest = ''] = /^([<>=^~]*)v?(\d+)(.*)$/.exec(condition) ?? [];
    if (number === '') return false;
    const wanted = Number(number);
    const isWhole = /^(?:\.[0x*])*$/.test(rest);
    if (sign === '>') return isWhole && rest === '' ? major > wanted : major >= wanted;
    if (sign === '>=') return major >= wanted;
    if (sign === '<') return isWhole ? major < wanted : major <= wanted;
    if (sign === '<=') return major <= wanted;
    return major === wanted;
  });
}
