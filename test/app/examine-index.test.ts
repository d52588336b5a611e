// The doctor reports where documents are indexed, and an embeddings address that does not answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { examineIndex } from "../../src/app/examine-index.ts";
import { RemoteError } from "../../src/contracts/errors.ts";
import type { Finding } from "../../src/contracts/finding.ts";

async function findings(...facts: Parameters<typeof examineIndex>): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of examineIndex(...facts)) found.push(finding);
  return found;
}

const place = { place: "SQLite files in /data/index", vectors: "Vectors are compared one by one.", setting: "" };

test("the doctor tells where documents are indexed, and asks nobody where nobody is to be asked", async () => {
  const found = await findings({ ...place, embedder: undefined });
  assert.deepEqual(
    found.map(({ outcome, detail }) => [outcome, detail]),
    [["ok", "SQLite files in /data/index. Vectors are compared one by one."]],
  );
});

test("an embeddings address that does not answer is a problem, with the setting to look at", async () => {
  const embedder = async (): Promise<never> => {
    throw new RemoteError("http://127.0.0.1:9/v1 does not answer");
  };
  const [, second] = await findings({ ...place, embedder, setting: "EMBEDDINGS_BASE_URL" });
  assert.deepEqual([second?.subject, second?.outcome], ["Embeddings", "problem"]);
  assert.match(second?.detail ?? "", /does not answer/);
  assert.match(second?.remedy ?? "", /EMBEDDINGS_BASE_URL/);
});
