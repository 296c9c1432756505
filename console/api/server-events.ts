/** Server-sent events out of a reply. The browser's own EventSource sends no access token. */
export interface ServerEvent {
  id: string | undefined;
  event: string;
  data: string;
}

export async function* serverEventsOf(body: ReadableStream<BufferSource>): AsyncGenerator<ServerEvent> {
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const blocks = (rest + read.value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) yield eventOf(block);
  }
}

function eventOf(block: string): ServerEvent {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    }),
  );
  return { id: fields.get('id'), event: fields.get('event') ?? '', data: fields.get('data') ?? '' };
}
