import type { QueueClient } from "@azure/storage-queue";
import type { TaskQueue } from "../contracts/queue.ts";
import { type AzureAccount, identityFor } from "../lib/azure-account.ts";
import { withConnectionString } from "../lib/azure-trouble.ts";
import { createAzureQueue } from "./azure-queue.ts";

/** In Azure Queue Storage, a queue for every kind of task. They are created by the first task. */
export function openAzureQueue(where: { readonly account: AzureAccount; readonly prefix: string }): TaskQueue {
  return createAzureQueue(async (kind): Promise<QueueClient> => {
    // It takes a while to load, and most commands never need it.
    const { QueueServiceClient } = await import("@azure/storage-queue");
    const { account } = where;
    const service =
      account.kind === "identity"
        ? new QueueServiceClient(account.endpoints.queue, await identityFor(account))
        : withConnectionString(account.connectionString, () =>
            QueueServiceClient.fromConnectionString(account.connectionString),
          );
    return service.getQueueClient(queueName(where.prefix, kind));
  });
}

/** Queues are named with lower-case letters, digits and single hyphens. */
function queueName(prefix: string, kind: string): string {
  return `${prefix}${kind}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 63);
}
