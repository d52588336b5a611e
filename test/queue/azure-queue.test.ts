// Tasks in Azure Queue Storage fit its messages, and errors do not show the connection string.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { QueueClient } from "@azure/storage-queue";
import { BadInputError, RemoteError } from "../../src/contracts/errors.ts";
import { createAzureQueue, openAzureQueue } from "../../src/queue/open-azure-queue.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { LONG, queueSuite } from "../contracts/queue-suite.ts";

let azurite: Azurite;
before(async () => {
  azurite = await startAzurite();
});
after(() => azurite.stop());

let queues = 0;
queueSuite("Azure Queue Storage", async () => {
  const where = { account: azurite.account, prefix: `Test_${++queues}--` };
  return { queue: openAzureQueue(where), where };
});

test("a message is no longer than the service takes, also with an error; what others wrote is a task, too", async () => {
  const { connectionString, account } = azurite;
  const queue = openAzureQueue({ account, prefix: "lockstep-" });
  await assert.rejects(queue.enqueue({ kind: "visit", payload: "x".repeat(60_000) }), BadInputError);
  const payload = "x".repeat(39_000);
  await queue.enqueue({ kind: "visit", payload });
  const claimed = await queue.claim(["visit"], "me", LONG);
  assert.ok(claimed && (await queue.fail(claimed, { error: "\0".repeat(100_000), delayMs: 0 })));
  const again = await queue.claim(["visit"], "me", LONG);
  assert.deepEqual([again?.payload === payload, again?.attempts, again?.error.length], [true, 2, 1000]);
  const client = new QueueClient(connectionString, "lockstep-visit");
  for (const text of ["plain", Buffer.from("[1]").toString("base64")]) {
    await client.sendMessage(text);
    assert.equal((await queue.claim(["visit"], "me", LONG))?.payload, text);
  }
});

test("a queue that could not be opened is opened by the next one", async () => {
  let tries = 0;
  const queue = createAzureQueue(async (kind) => {
    if (++tries === 1) throw new Error("no file descriptors left");
    return new QueueClient(azurite.connectionString, `later-${kind}`);
  });
  await assert.rejects(queue.enqueue({ kind: "visit", payload: 1 }), /descriptors/);
  await queue.enqueue({ kind: "visit", payload: 2 });
  assert.equal((await queue.claim(["visit"], "me", LONG))?.payload, 2);
  assert.equal(tries, 2);
});

test("trouble is told without the connection string", async () => {
  const key = Buffer.from("a secret key").toString("base64");
  const wrong = azurite.connectionString.replace(/AccountKey=[^;]*/, `AccountKey=${key}`);
  const opened = (connectionString: string) =>
    openAzureQueue({ account: { kind: "connection string", connectionString }, prefix: "lockstep-" });
  const refused = opened(wrong).claim(["visit"], "me", LONG);
  await assert.rejects(refused, (error: Error) => {
    assert.ok(error instanceof RemoteError);
    assert.match(error.message, /^take a task from the queue lockstep-visit: Azure Storage refuses \(403 \w+\); check/);
    assert.equal(error.cause, undefined);
    return true;
  });
  const nonsense = opened(`nonsense ${key}`);
  await assert.rejects(nonsense.enqueue({ kind: "visit", payload: 1 }), (error: Error) => {
    assert.ok(error instanceof BadInputError);
    assert.ok(!error.message.includes(key));
    return true;
  });
});
