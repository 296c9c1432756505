/** Hands what is on a page to the person as a file. */
export function saveFile(name: string, type: string, content: string) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Browsers have begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
