// Page snapshots that cannot be deleted are reported and hold nothing else up.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BlobServiceClient, type ContainerClient } from "@azure/storage-blob";
import { NotFoundError, RemoteError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { IngestStage } from "./ingest-stage.ts";

let azurite: Azurite;
let stage: IngestStage;
let container: ContainerClient;
before(async () => {
  azurite = await startAzurite();
  stage = await IngestStage.open({
    AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString,
    WEB_SNAPSHOT_KEEP_DAYS: "7",
  });
  container = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient("lockstep-snapshots");
});
after(async () => {
  await stage?.close();
  await azurite?.stop();
});

async function snapshots(): Promise<{ readonly name: string; readonly id: string }[]> {
  const found = [];
  for await (const { name } of container.listBlobsFlat()) found.push({ name, id: name.split("/")[1] ?? "" });
  return found;
}

/** Nobody may delete a blob that somebody has leased. */
async function lease(id: ItemId): Promise<void> {
  const [own = assert.fail("it has no snapshot")] = (await snapshots()).filter((one) => one.id === id);
  await container.getBlobClient(own.name).getBlobLeaseClient().acquireLease(-1);
}

test("snapshots that cannot be deleted keep neither other items nor the index from being brought in step, and are told of", async () => {
  const ids: ItemId[] = [];
  for (const name of ["ant", "bee", "cat"]) {
    stage.pages.answers.set(`/${name}`, { text: `The ${name} sleeps.` });
    ids.push(await stage.add(`/${name}`));
  }
  const [ant = assert.fail(), bee = assert.fail(), cat = assert.fail()] = ids;
  await stage.round();
  assert.equal((await snapshots()).length, 3);
  await lease(ant);
  for (const id of [ant, bee])
    await stage.app.ingest.remove(id, (await stage.app.ingest.item(id)).members[0]?.domainId ?? assert.fail());
  const job = await stage.crawl();
  assert.equal(job.result?.ok, true, job.result?.error);
  assert.deepEqual(await stage.found("sleeps"), ["/cat"]);
  for (const id of [ant, bee]) await assert.rejects(stage.app.ingest.item(id), NotFoundError);
  assert.deepEqual((await snapshots()).map(({ id }) => id).sort(), [ant, cat].sort());
  const pieces: Uint8Array[] = [];
  for await (const bytes of stage.app.jobs.follow(job.jobId, { signal: new AbortController().signal }))
    pieces.push(bytes);
  assert.match(
    Buffer.concat(pieces).toString(),
    new RegExp(
      `WARNING: Address '${ant}' was removed, but some of its documents could not be deleted: delete from the container lockstep-snapshots`,
    ),
  );
  // The timer's tidying up: what is old goes, whatever cannot.
  stage.later(8);
  await assert.rejects(stage.sweep(), (error: Error) => {
    assert.ok(error instanceof RemoteError);
    assert.match(
      error.message,
      /^Old documents and snapshots could not all be deleted: delete from the container lockstep-snapshots/,
    );
    return true;
  });
  assert.deepEqual(
    (await snapshots()).map(({ id }) => id),
    [ant],
  );
  assert.equal(await stage.work(), 1, "what is due was queued all the same");
  // Taken out before it was ever read: nothing waits for a crawl.
  const fresh = await stage.add("/dog");
  await container
    .getBlockBlobClient(`${fresh.slice(4, 6)}/${fresh}/20260101T000000000.html`)
    .uploadData(Buffer.from("x"));
  await lease(fresh);
  await assert.rejects(
    stage.app.ingest.remove(fresh, (await stage.app.ingest.item(fresh)).members[0]?.domainId ?? assert.fail()),
    (error: Error) => error instanceof RemoteError && error.message.startsWith(`Address '${fresh}' was removed, but`),
  );
  await assert.rejects(stage.app.ingest.item(fresh), NotFoundError);
});
