import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { DomainId, FileId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import { ofKind } from "../kinds.ts";

/** Embeds one version into a domain, and kills itself before or after `files_metadata.json` takes its place. */
const [storage = "", domainId = "", fileId = "", moment = ""] = process.argv.slice(2);
const { rename } = fs.promises;
fs.promises.rename = async (from, to) => {
  const isMeant = String(to).endsWith("files_metadata.json");
  if (isMeant && moment === "before") process.kill(process.pid, "SIGKILL");
  await rename(from, to);
  if (isMeant && moment === "after") process.kill(process.pid, "SIGKILL");
};
syncBuiltinESMExports();

const { openTestLedgers } = await import("./open-test-ledgers.ts");
const { indexed, mirrored, seen } = await import("../ledgers/ledger-fixture.ts");
const ledgers = openTestLedgers(`${storage}/crawler`);
const domain = domainId as DomainId;
const config = { ...ofKind("file_sources"), sourceId: "s" as SourceId } as const;
const ledger = await ledgers.open({ domainId: domain, config }, { readOnly: false });
const entry = { itemId: "a" as ItemId, seen, mirrored, indexed: null };
await ledgers.metadata.readBack(domain);
ledger.putEmbedded(entry, { ...indexed, fileId: fileId as FileId });
await ledger.flush();
await ledgers.metadata.write(domain);
await ledgers.close();
