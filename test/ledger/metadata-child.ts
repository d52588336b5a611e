import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync } from "node:sqlite";
import type { DomainId, FileId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import { ofKind } from "../kinds.ts";

/**
 * Embeds one version into a domain, and kills itself before or after `files_metadata.json` takes its place; or somebody saves it right then,
 * or takes over the right to write it before.
 */
const [storage = "", domainId = "", fileId = "", moment = ""] = process.argv.slice(2);
const { open, rename } = fs.promises;
fs.promises.open = async (path, ...options) => {
  if (moment === "late" && String(path).includes("files_metadata.json.")) {
    const ledger = new DatabaseSync(`${storage}/crawler/${domainId}/ledger.sqlite`);
    ledger.exec("UPDATE lease SET nonce = 'another'");
    ledger.close();
  }
  return await open(path, ...options);
};
fs.promises.rename = async (from, to) => {
  const isMeant = String(to).endsWith("files_metadata.json");
  if (isMeant && moment === "before") process.kill(process.pid, "SIGKILL");
  await rename(from, to);
  if (isMeant && moment === "after") process.kill(process.pid, "SIGKILL");
  if (isMeant && moment === "saved") {
    const text = fs.readFileSync(String(to), "utf8");
    fs.writeFileSync(String(to), text.replaceAll('"openai_file_id"', '"reviewer": "Ann", "openai_file_id"'));
  }
};
syncBuiltinESMExports();

const { openTestLedgers } = await import("./open-test-ledgers.ts");
const { indexed, mirrored, seen } = await import("./ledger-fixture.ts");
const ledgers = openTestLedgers(`${storage}/crawler`);
const domain = domainId as DomainId;
const config = { ...ofKind("file_sources"), sourceId: "s" as SourceId } as const;
const ledger = await ledgers.open({ domainId: domain, config }, { readOnly: false });
const entry = { itemId: "a" as ItemId, seen, mirrored, indexed: null };
await ledgers.metadata.readBack(domain);
ledger.putEmbedded(entry, { ...indexed, fileId: fileId as FileId });
await ledger.flush();
const written = ledgers.metadata.write(domain);
await (moment === "late" ? assert.rejects(written, /another one took over/) : written);
await ledgers.close();
