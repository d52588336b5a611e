import type { QueueClient } from "@azure/storage-queue";
import { BadInputError } from "../contracts/errors.ts";
import type { ClaimedTask, TaskQueue } from "../contracts/queue.ts";
import {
  AZURE_RETRIES,
  type AzureAccount,
  azureAnswer,
  explainAzure,
  identityFor,
  withConnectionString,
} from "../lib/azure.ts";
import { createKeyedMutex } from "../lib/concurrency.ts";

/** Uses Azure Queue Storage, with one queue per kind of task. The first task creates them. */
export function openAzureQueue(where: { readonly account: AzureAccount; readonly prefix: string }): TaskQueue {
  return createAzureQueue(async (kind): Promise<QueueClient> => {
    // Loading it takes a while, and most commands never need it.
    const { QueueServiceClient } = await import("@azure/storage-queue");
    const { account } = where;
    const service =
      account.kind === "identity"
        ? new QueueServiceClient(account.endpoints.queue, await identityFor(account), AZURE_RETRIES)
        : withConnectionString(account.connectionString, () =>
            QueueServiceClient.fromConnectionString(account.connectionString, AZURE_RETRIES),
          );
    return service.getQueueClient(queueName(where.prefix, kind));
  });
}

/** Queue names have lower-case letters, digits and single hyphens. */
function queueName(prefix: string, kind: string): string {
  return `${prefix}${kind}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 63);
}

const MAX_SECONDS = 7 * 86_400;
/** Tasks wait without a limit; by default the service would drop them after a week. */
const FOR_EVER = -1;

/** State of a task that was claimed here. */
interface Claim {
  /** Changes with every renewal: only the newest is valid. */
  readonly receipt: string;
  readonly message: TaskMessage;
}

/** Leases are the service's invisible messages. The service cannot tell that a worker died, so its tasks wait until their leases end. */
export function createAzureQueue(open: (kind: string) => Promise<QueueClient>): TaskQueue {
  const clientOf = openOncePerKind(open);
  const claims = new Map<string, Claim>();
  const oneAtATime = createKeyedMutex();
  /** `act` returns the new receipt, "" if the task is given up. Calls for one task are serialized, because each changes the receipt. */
  const change = (task: ClaimedTask, act: (client: QueueClient, claim: Claim) => Promise<string>): Promise<boolean> =>
    oneAtATime(task.lease, async () => {
      const claim = claims.get(task.lease);
      if (!claim) return false;
      const receipt = await whileMine(act(await clientOf(task.kind), claim));
      if (receipt) claims.set(task.lease, { ...claim, receipt });
      else claims.delete(task.lease);
      return receipt !== undefined;
    });

  const putBack = (task: ClaimedTask, delayMs: number, rewrite: (message: TaskMessage) => TaskMessage) =>
    change(task, async (client, { receipt, message }) => {
      await client.updateMessage(String(task.id), receipt, encodeMessage(rewrite(message)), toSeconds(delayMs));
      return "";
    });

  return {
    async enqueue({ kind, payload }) {
      await send(await clientOf(kind), newMessage(payload));
    },
    async claim(kinds, _worker, leaseMs) {
      for (const kind of kinds) {
        const received = await receive(await clientOf(kind), leaseMs);
        if (!received) continue;
        const message = decodeMessage(received.messageText);
        const { messageId: id, popReceipt: receipt } = received;
        // Receipts of two messages may be the same.
        const lease = `${id}/${receipt}`;
        claims.set(lease, { receipt, message });
        const attempts = received.dequeueCount - message.handedBack;
        return { id, kind, payload: message.payload, attempts, error: message.error, lease };
      }
      return undefined;
    },
    renew: (task, leaseMs) =>
      change(task, async (client, { receipt }) => {
        const { popReceipt } = await client.updateMessage(String(task.id), receipt, undefined, toSeconds(leaseMs));
        return popReceipt ?? "";
      }),
    complete: (task) =>
      change(task, async (client, { receipt }) => {
        await client.deleteMessage(String(task.id), receipt);
        return "";
      }),
    fail: (task, { error, delayMs }) => putBack(task, delayMs, (message) => ({ ...message, error })),
    handBack: (task, delayMs = 0) =>
      putBack(task, delayMs, (message) => ({ ...message, handedBack: message.handedBack + 1 })),
    async waitingSince(kind) {
      return (await peek(await clientOf(kind)))?.insertedOn;
    },
    close: async () => undefined,
  };
}

/** Passes a failure to all waiting callers; the next call tries again. */
function openOncePerKind(open: (kind: string) => Promise<QueueClient>): (kind: string) => Promise<QueueClient> {
  const clients = new Map<string, Promise<QueueClient>>();
  return (kind) => {
    const known = clients.get(kind);
    if (known) return known;
    const client = open(kind);
    clients.set(kind, client);
    client.catch(() => clients.delete(kind));
    return client;
  };
}

/** Rounds up. */
function toSeconds(ms: number): number {
  return Math.min(Math.ceil(ms / 1000), MAX_SECONDS);
}

async function send(client: QueueClient, text: string): Promise<void> {
  const put = () => client.sendMessage(text, { messageTimeToLive: FOR_EVER });
  try {
    await put().catch(async (error: unknown) => {
      if (azureAnswer(error).code !== "QueueNotFound") throw error;
      await client.createIfNotExists();
      await put();
    });
  } catch (error) {
    throw explainAzure(error, `put a task into the queue ${client.name}`);
  }
}

async function receive(client: QueueClient, leaseMs: number) {
  try {
    // The service hides a message for at least a second.
    const visibilityTimeout = Math.max(1, toSeconds(leaseMs));
    return (await client.receiveMessages({ numberOfMessages: 1, visibilityTimeout })).receivedMessageItems[0];
  } catch (error) {
    if (azureAnswer(error).code === "QueueNotFound") return undefined;
    throw explainAzure(error, `take a task from the queue ${client.name}`);
  }
}

/** Returns one that can be claimed now, in about the order of insertion. */
async function peek(client: QueueClient) {
  try {
    return (await client.peekMessages({ numberOfMessages: 1 })).peekedMessageItems[0];
  } catch (error) {
    if (azureAnswer(error).code === "QueueNotFound") return undefined;
    throw explainAzure(error, `look into the queue ${client.name}`);
  }
}

/** Returns undefined if another worker has the task, or it is gone. */
async function whileMine(request: Promise<string>): Promise<string | undefined> {
  try {
    return await request;
  } catch (error) {
    const { status, code } = azureAnswer(error);
    if (status === 404 || code === "PopReceiptMismatch") return undefined;
    throw explainAzure(error, "change a task in Azure Queue Storage");
  }
}

/** A message in Azure Queue Storage: the task, and what the service does not count itself. */
interface TaskMessage {
  readonly payload: unknown;
  /** Why the last attempt failed. */
  readonly error: string;
  /** How often it was claimed and handed back. */
  readonly handedBack: number;
}

/** A message has 64 KB, of which base64 takes a quarter; the remainder is for the error. */
const MAX_PAYLOAD_BYTES = 40_000;
const MAX_ERROR_CHARS = 1000;

function encodeMessage({ payload, error, handedBack }: TaskMessage): string {
  const json = JSON.stringify({ payload, error: error.slice(0, MAX_ERROR_CHARS), handedBack });
  return Buffer.from(json).toString("base64");
}

/** Throws BadInputError if it is too long. */
function newMessage(payload: unknown): string {
  const bytes = Buffer.byteLength(JSON.stringify(payload) ?? "null");
  if (bytes > MAX_PAYLOAD_BYTES) {
    throw new BadInputError(
      `A task for Azure Queue Storage has at most ${MAX_PAYLOAD_BYTES} bytes; this one has ${bytes}.`,
    );
  }
  return encodeMessage({ payload: payload ?? null, error: "", handedBack: 0 });
}

/** Messages of other programs are tasks, too: the worker that runs one says what is wrong with it. */
function decodeMessage(text: string): TaskMessage {
  try {
    const read = JSON.parse(Buffer.from(text, "base64").toString()) as Partial<TaskMessage> | null;
    if (read && "payload" in read) {
      return { payload: read.payload, error: String(read.error ?? ""), handedBack: Number(read.handedBack) || 0 };
    }
  } catch {
    // Not a message of lockstep.
  }
  return { payload: text, error: "", handedBack: 0 };
}
