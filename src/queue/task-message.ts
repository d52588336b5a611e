import { BadInputError } from "../contracts/errors.ts";

/** What a message of Azure Queue Storage says: the task, and what the service does not count itself. */
export interface TaskMessage {
  readonly payload: unknown;
  /** Why the last attempt failed. */
  readonly error: string;
  /** How often it was claimed and handed back. */
  readonly handedBack: number;
}

/** A message has 64 KB, of which base64 takes a quarter; the rest of what is left is for the error. */
const MAX_PAYLOAD_BYTES = 40_000;
const MAX_ERROR_CHARS = 1000;

export function encodeMessage({ payload, error, handedBack }: TaskMessage): string {
  const json = JSON.stringify({ payload, error: error.slice(0, MAX_ERROR_CHARS), handedBack });
  return Buffer.from(json).toString("base64");
}

/** BadInputError when it is too long to be one. */
export function newMessage(payload: unknown): string {
  const bytes = Buffer.byteLength(JSON.stringify(payload) ?? "null");
  if (bytes > MAX_PAYLOAD_BYTES) {
    throw new BadInputError(
      `A task for Azure Queue Storage has at most ${MAX_PAYLOAD_BYTES} bytes; this one has ${bytes}.`,
    );
  }
  return encodeMessage({ payload: payload ?? null, error: "", handedBack: 0 });
}

/** What somebody else put into the queue is a task, too: whoever does it says what is wrong with it. */
export function decodeMessage(text: string): TaskMessage {
  try {
    const read = JSON.parse(Buffer.from(text, "base64").toString()) as Partial<TaskMessage> | null;
    if (read && "payload" in read) {
      return { payload: read.payload, error: String(read.error ?? ""), handedBack: Number(read.handedBack) || 0 };
    }
  } catch {
    // Not one of ours.
  }
  return { payload: text, error: "", handedBack: 0 };
}
