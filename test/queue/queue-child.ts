import { openAzureQueue } from "../../src/queue/open-azure-queue.ts";
import { openTaskQueue } from "../../src/queue/open-task-queue.ts";

export type QueuePlace = Parameters<typeof openTaskQueue>[0] | Parameters<typeof openAzureQueue>[0];

// Run as a process of its own: `take <where>` takes tasks until there are none and tells which; `hold <where>` claims one
// and keeps it.
const [verb = "", place = ""] = process.argv.slice(2);
const where = JSON.parse(place) as QueuePlace;
const queue = "prefix" in where ? openAzureQueue(where) : openTaskQueue(where);
const taken: unknown[] = [];
for (;;) {
  const task = await queue.claim(["count"], `child ${process.pid}`, 60_000);
  if (!task) break;
  taken.push(task.payload);
  if (verb === "hold") {
    process.send?.(taken);
    await new Promise(() => setInterval(() => undefined, 60_000));
  }
  await queue.complete(task);
}
process.send?.(taken);
process.disconnect?.();
await queue.close();
