/** Hands what is on a page to the person as a file. */
export const saveFile = (name: string, type: string, content: string) => save(name, new Blob([content], { type }));

/** What others sent is never opened here, whatever it is. */
export const saveBytes = (name: string, content: Uint8Array<ArrayBuffer>) =>
  save(name, new Blob([content], { type: 'application/octet-stream' }));

function save(name: string, content: Blob) {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Browsers have begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
