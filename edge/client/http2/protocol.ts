/**
 * What the frames of a client mean (RFC 9113), and what ends its connection. Nothing that it sends is kept but what its streams have room for: blocks of headers are
 * bounded, windows are kept to the byte, and what only makes work is counted. Priorities are ignored.
 */
import { errorCodes, type ErrorCode } from './error-codes.ts';
import { FrameBudget, idleFrameAllowance, resetAllowance } from './frame-budget.ts';
import { flags, frameTypes, settings, windowMax, type Frame } from './frames.ts';
import { HpackDecoder } from './hpack-decoder.ts';
import { RecentlyClosed } from './recently-closed.ts';
import { areTrailers } from './request.ts';
import type { Http2Sending } from './sending.ts';
import type { Http2Stream } from './stream.ts';

export const streamsMax = 100;
/** What a client may send of all bodies together before somebody has taken any of them. */
export const sharedWindowBytes = 1024 * 1024;
const blockFramesMax = 16;
const [priorityBytes, pingBytes, goAwayBytesMin, settingBytes, numberBytes] = [5, 8, 8, 6, 4];

export interface ProtocolUser {
  readonly sending: Http2Sending;
  /** Answers why the connection has to end, if it has. */
  onRequest(stream: number, list: string[], isTooLarge: boolean, isWhole: boolean): ErrorCode | undefined;
  onGoAway(): void;
}

/** Headers that have not come whole. */
interface Block {
  stream: number;
  isEnd: boolean;
  parts: Buffer[];
  bytes: number;
}

export class Http2Protocol {
  readonly streams = new Map<number, Http2Stream>();
  lastStream = 0;
  /** The client was told that no more is taken. */
  isGoingAway = false;
  /** Since when headers have been coming. */
  blockSince = 0;
  readonly #user: ProtocolUser;
  readonly #decoder: HpackDecoder;
  readonly #blockBytesMax: number;
  readonly #closed = new RecentlyClosed();
  readonly #resets = new FrameBudget(resetAllowance);
  readonly #idleFrames = new FrameBudget(idleFrameAllowance);
  #hasSettings = false;
  #block: Block | undefined;
  #window = sharedWindowBytes;
  #takenBytes = 0;

  constructor(user: ProtocolUser, headerBytesMax: number, headerLinesMax: number) {
    this.#user = user;
    this.#blockBytesMax = headerBytesMax;
    this.#decoder = new HpackDecoder(headerBytesMax, headerLinesMax);
  }

  readonly #handlers: Record<number, (frame: Frame) => ErrorCode | undefined> = {
    [frameTypes.data]: (frame) => this.#onData(frame),
    [frameTypes.headers]: (frame) => this.#onHeaders(frame),
    [frameTypes.priority]: (frame) => onPriority(frame),
    [frameTypes.reset]: (frame) => this.#onReset(frame),
    [frameTypes.settings]: (frame) => this.#onSettings(frame),
    [frameTypes.pushPromise]: () => errorCodes.protocol,
    [frameTypes.ping]: (frame) => this.#onPing(frame),
    [frameTypes.goAway]: (frame) => this.#onGoAway(frame),
    [frameTypes.windowUpdate]: (frame) => this.#onWindowUpdate(frame),
    [frameTypes.continuation]: (frame) => this.#onContinuation(frame),
  };

  /** Answers why the connection has to end, if it has. Frames of unknown types are ignored. */
  onFrame(frame: Frame): ErrorCode | undefined {
    if (!this.#hasSettings && (frame.type !== frameTypes.settings || frame.flags & flags.acknowledged)) return errorCodes.protocol;
    if (this.#block && frame.type !== frameTypes.continuation) return errorCodes.protocol;
    return this.#handlers[frame.type]?.(frame);
  }

  /** `isOurs`: the client may not know yet that the stream is over, and go on sending. */
  forget(stream: number, isOurs: boolean) {
    if (this.streams.delete(stream)) this.#closed.add(stream, isOurs);
  }

  /** What else comes on this stream is ignored. */
  noteUnopened(stream: number) {
    this.#closed.add(stream, true);
  }

  /** Somebody has taken so much of the bodies: the client may send as much again. */
  onTaken(bytes: number) {
    this.#takenBytes += bytes;
    if (this.#takenBytes < sharedWindowBytes / 4) return;
    this.#user.sending.giveWindow(0, this.#takenBytes);
    this.#window += this.#takenBytes;
    this.#takenBytes = 0;
  }

  #onHeaders(frame: Frame): ErrorCode | undefined {
    const { stream } = frame;
    let content = withoutPadding(frame);
    if (stream === 0 || !content) return errorCodes.protocol;
    if (frame.flags & flags.priority) {
      if (content.length < priorityBytes) return errorCodes.frameSize;
      if (isOwnParent(stream, content)) return errorCodes.protocol;
      content = content.subarray(priorityBytes);
    }
    const isEnd = (frame.flags & flags.endStream) !== 0;
    if (frame.flags & flags.endHeaders) return this.#onBlock(stream, isEnd, content);
    this.#block = { stream, isEnd, parts: [Buffer.from(content)], bytes: content.length };
    this.blockSince = performance.now();
    return undefined;
  }

  #onContinuation({ stream, flags: flag, payload }: Frame): ErrorCode | undefined {
    const block = this.#block;
    if (!block || block.stream !== stream) return errorCodes.protocol;
    block.parts.push(Buffer.from(payload));
    block.bytes += payload.length;
    if (block.bytes > this.#blockBytesMax || block.parts.length > blockFramesMax) return errorCodes.tooMuch;
    if ((flag & flags.endHeaders) === 0) return undefined;
    this.#block = undefined;
    this.blockSince = 0;
    return this.#onBlock(stream, block.isEnd, Buffer.concat(block.parts));
  }

  /** Every block is read, as it may change the table of headers; what it says may then be ignored. */
  #onBlock(id: number, isEnd: boolean, block: Buffer): ErrorCode | undefined {
    const headers = this.#decoder.decode(block);
    if (!headers) return errorCodes.compression;
    const { list, areSound, isTooLarge } = headers;
    const stream = this.streams.get(id);
    if (stream?.isRequestWhole) return errorCodes.streamClosed;
    if (stream) return this.#onTrailers(stream, list, isEnd && areSound && !isTooLarge);
    if (id % 2 === 0) return errorCodes.protocol;
    if (id <= this.lastStream)
      return this.#closed.isOurs(id) ? undefined : this.#closed.has(id) ? errorCodes.streamClosed : errorCodes.protocol;
    this.lastStream = id;
    if (this.isGoingAway) {
      this.noteUnopened(id);
      return undefined;
    }
    if (this.streams.size >= streamsMax) return this.refuse(id, errorCodes.refusedStream);
    if (!areSound) return this.refuse(id, errorCodes.protocol);
    return this.#user.onRequest(id, list, isTooLarge, isEnd);
  }

  #onTrailers(stream: Http2Stream, list: readonly string[], isRight: boolean): ErrorCode | undefined {
    const problem = isRight && areTrailers(list) ? stream.onEnd(list) : errorCodes.protocol;
    return problem === undefined ? undefined : this.#break(stream, problem);
  }

  /** Ends a stream that is not opened. */
  refuse(id: number, code: ErrorCode): ErrorCode | undefined {
    this.noteUnopened(id);
    this.#user.sending.reset(id, code);
    return this.#resets.take() ? undefined : errorCodes.tooMuch;
  }

  #break(stream: Http2Stream, code: ErrorCode): ErrorCode | undefined {
    stream.reset(code);
    return this.#resets.take() ? undefined : errorCodes.tooMuch;
  }

  #onData(frame: Frame): ErrorCode | undefined {
    const bytes = frame.payload.length;
    const content = withoutPadding(frame);
    if (frame.stream === 0 || frame.stream > this.lastStream || !content) return errorCodes.protocol;
    this.#window -= bytes;
    if (this.#window < 0) return errorCodes.flowControl;
    const stream = this.streams.get(frame.stream);
    const isEnd = (frame.flags & flags.endStream) !== 0;
    if (!isEnd && content.length === 0 && !this.#idleFrames.take()) return errorCodes.tooMuch;
    if (!stream || stream.isRequestWhole) {
      this.onTaken(bytes);
      if (stream) return this.#break(stream, errorCodes.streamClosed);
      return this.#closed.isOurs(frame.stream) ? undefined : errorCodes.streamClosed;
    }
    const problem = stream.onData(content, bytes, isEnd);
    return problem === undefined ? undefined : this.#break(stream, problem);
  }

  #onReset({ stream, payload }: Frame): ErrorCode | undefined {
    if (payload.length !== numberBytes) return errorCodes.frameSize;
    if (stream === 0 || stream > this.lastStream) return errorCodes.protocol;
    const open = this.streams.get(stream);
    if (!open) return undefined;
    open.close(false);
    return this.#resets.take() ? undefined : errorCodes.tooMuch;
  }

  #onSettings({ stream, flags: flag, payload }: Frame): ErrorCode | undefined {
    if (stream !== 0) return errorCodes.protocol;
    if (flag & flags.acknowledged) return payload.length === 0 ? undefined : errorCodes.frameSize;
    if (payload.length % settingBytes !== 0) return errorCodes.frameSize;
    if (!this.#idleFrames.take()) return errorCodes.tooMuch;
    this.#hasSettings = true;
    const told = new Map<number, number>();
    for (let at = 0; at < payload.length; at += settingBytes) {
      const [id, value] = [payload.readUInt16BE(at), payload.readUInt32BE(at + 2)];
      const problem = flawOfSetting(id, value);
      if (problem !== undefined) return problem;
      told.set(id, value);
    }
    const [table, window] = [told.get(settings.headerTableSize), told.get(settings.initialWindowSize)];
    if (table !== undefined) this.#user.sending.encoder.limitTable(table);
    if (window !== undefined && !this.#resizeWindows(window)) return errorCodes.flowControl;
    this.#user.sending.acknowledgeSettings();
    return undefined;
  }

  /** False where one would be larger than it can be. */
  #resizeWindows(window: number): boolean {
    const { sending } = this.#user;
    const more = window - sending.streamWindow;
    sending.streamWindow = window;
    return [...this.streams.values()].every(({ writing }) => writing.widen(more));
  }

  #onPing({ stream, flags: flag, payload }: Frame): ErrorCode | undefined {
    if (stream !== 0) return errorCodes.protocol;
    if (payload.length !== pingBytes) return errorCodes.frameSize;
    if (flag & flags.acknowledged) return undefined;
    if (!this.#idleFrames.take()) return errorCodes.tooMuch;
    this.#user.sending.answerPing(payload);
    return undefined;
  }

  #onGoAway({ stream, payload }: Frame): ErrorCode | undefined {
    if (stream !== 0) return errorCodes.protocol;
    if (payload.length < goAwayBytesMin) return errorCodes.frameSize;
    this.#user.onGoAway();
    return undefined;
  }

  #onWindowUpdate({ stream, payload }: Frame): ErrorCode | undefined {
    if (payload.length !== numberBytes) return errorCodes.frameSize;
    const bytes = payload.readUInt32BE(0) & windowMax;
    if (bytes === 0 || stream > this.lastStream) return errorCodes.protocol;
    if (stream === 0) return this.#user.sending.widen(bytes) ? undefined : errorCodes.flowControl;
    const open = this.streams.get(stream);
    return !open || open.writing.widen(bytes) ? undefined : this.#break(open, errorCodes.flowControl);
  }
}

/** Undefined where there is more padding than frame. */
function withoutPadding({ flags: flag, payload }: Frame): Buffer | undefined {
  if ((flag & flags.padded) === 0) return payload;
  const end = payload.length - (payload[0] ?? Infinity);
  return end < 1 ? undefined : payload.subarray(1, end);
}

const isOwnParent = (stream: number, priority: Buffer) => (priority.readUInt32BE(0) & windowMax) === stream;

function onPriority({ stream, payload }: Frame): ErrorCode | undefined {
  if (payload.length !== priorityBytes) return errorCodes.frameSize;
  return stream === 0 || isOwnParent(stream, payload) ? errorCodes.protocol : undefined;
}

function flawOfSetting(id: number, value: number): ErrorCode | undefined {
  if (id === settings.enablePush && value > 1) return errorCodes.protocol;
  if (id === settings.initialWindowSize && value > windowMax) return errorCodes.flowControl;
  if (id === settings.frameSizeMax && (value < 2 ** 14 || value >= 2 ** 24)) return errorCodes.protocol;
  return undefined;
}
