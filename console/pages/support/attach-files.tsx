/** Files that go with a ticket or a reply. They are read when they are chosen, because the API takes them as text. */
import { useId, useState } from 'react';
import type { Body } from '../../actions/link-form.tsx';
import { bytesText } from '../../ui/amounts.ts';
import { Icon } from '../../ui/icon.tsx';
import { FieldError } from '../../ui/notice.tsx';
import './support.css';

export interface AttachedFile {
  filename: string;
  /** As base64. */
  data: string;
  size: number;
}

export const attachedIn = (files: readonly AttachedFile[]): Body =>
  files.length === 0 ? {} : { attachments: files.map(({ filename, data }) => ({ filename, data })) };

/** As many as a request takes, and together as large. */
const filesMax = 5;
const bytesMax = 512 * 1024;

interface AttachFiles {
  files: readonly AttachedFile[];
  onChange(files: readonly AttachedFile[]): void;
}

export function AttachFiles({ files, onChange }: AttachFiles) {
  const [id, hint] = [useId(), useId()];
  const [refusal, setRefusal] = useState<string>();
  const choose = async (chosen: readonly File[]) => {
    const all = [...files, ...(await Promise.all(chosen.map(read)))];
    const isTooMuch = all.length > filesMax || all.reduce((sum, { size }) => sum + size, 0) > bytesMax;
    setRefusal(isTooMuch ? `At most ${filesMax} files with ${bytesMax / 1024} KiB together; send the others with a reply.` : undefined);
    if (!isTooMuch) onChange(all);
  };
  return (
    <div className="field">
      <label htmlFor={id}>
        Files <span className="quiet">(optional)</span>
      </label>
      <input
        id={id}
        type="file"
        multiple
        className="input files"
        aria-describedby={hint}
        onChange={({ target }) => {
          void choose([...(target.files ?? [])]);
          target.value = '';
        }}
      />
      <span className="hint" id={hint}>
        Up to {filesMax}, {bytesMax / 1024} KiB together.
      </span>
      {refusal !== undefined && <FieldError>{refusal}</FieldError>}
      {files.length > 0 && (
        <ul className="attached">
          {files.map((file, n) => (
            <li key={n}>
              <span className="cut">{file.filename}</span>
              <span className="quiet small">{bytesText(file.size)}</span>
              <button
                type="button"
                className="icon-button tiny"
                aria-label={`Leave out ${file.filename}`}
                onClick={() => onChange(files.filter((each) => each !== file))}
              >
                <Icon name="cross" className="small" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const read = (file: File) =>
  new Promise<AttachedFile>((settle, fail) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => settle({ filename: file.name, size: file.size, data: base64Of(reader.result as string) }));
    reader.addEventListener('error', () => fail(reader.error ?? new Error(`${file.name} cannot be read.`)));
    reader.readAsDataURL(file);
  });

/** What comes after the comma of `data:text/plain;base64,…`. */
const base64Of = (dataUrl: string) => dataUrl.slice(dataUrl.indexOf(',') + 1);
