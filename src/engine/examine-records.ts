import type { Finding } from "../contracts/finding.ts";
import { DAMAGED_RECORD } from "../contracts/registry.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/plural.ts";
import type { EngineParts } from "./engine-parts.ts";
import { findUnregistered } from "./find-unregistered.ts";
import { REGISTERED_SOURCE } from "./ingest/ingest.ts";

const MAX_NAMED = 5;

/** Records of a web source that are damaged, and registered addresses that the registry does not know any more. */
export async function* examineRecords(
  run: SourceRun,
  { shelf, ledgers }: Pick<EngineParts, "shelf" | "ledgers">,
): AsyncGenerator<Finding, void> {
  const { domainId, config } = run;
  if (!config.kind.abilities.registersAddresses) return;
  const { registry, members } = shelf();
  const damaged: string[] = [];
  for await (const page of members.in(domainId, config.sourceId)) {
    for (const record of await registry.getMany(page.map(({ itemId }) => itemId))) {
      if (record?.item.scheduling.errorMessage === DAMAGED_RECORD) damaged.push(record.item.displaySource);
    }
  }
  if (damaged.length > 0) yield sayDamaged(damaged);
  if (config.sourceId !== REGISTERED_SOURCE) return;
  const ledger = await ledgers.open(run, { readOnly: true });
  const { size: unknown } = await findUnregistered(run, ledger, shelf());
  if (unknown > 0) yield { subject: "Registered addresses", outcome: "problem", ...sayUnregistered(unknown) };
}

function sayDamaged(addresses: readonly string[]): Finding {
  const named = addresses.slice(0, MAX_NAMED).map((address) => `'${address}'`);
  const more = addresses.length > MAX_NAMED ? ` and ${addresses.length - MAX_NAMED} more` : "";
  const whose = addresses.length === 1 ? "The record" : "The records";
  const detail = `${whose} of ${named.join(", ")}${more} in the registry cannot be read.`;
  return { subject: "Registry", outcome: "problem", detail, remedy: "Crawl the source: each look makes one anew." };
}

/** After the registry was lost. */
export function sayUnregistered(documents: number): Pick<Finding, "detail" | "remedy"> {
  const are = plural(documents, "document", "documents");
  return {
    detail: `The index has ${are} of addresses that the registry does not know, so nobody looks whether they change.`,
    remedy:
      "Register the addresses again, those in the column url of the source's sharepoint_map.csv; a crawl with confirm_deletes=true then takes the documents of all others out of the index.",
  };
}
