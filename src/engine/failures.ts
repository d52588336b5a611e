import { isEmptyReason } from "../contracts/document.ts";
import type { SourceConfig } from "../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../contracts/ids.ts";
import type { AcknowledgedFailure, Ledger, LedgerEntry } from "../contracts/ledger.ts";
import type { Unreadable } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { sha256Of } from "../lib/hash.ts";
import { TimeSlice } from "../lib/time-slice.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { Step } from "./crawl-request.ts";
import type { EngineParts } from "./engine-parts.ts";

/** An item that could not be downloaded, processed or embedded, until it can. */
export interface ItemFailure {
  readonly itemId: ItemId;
  readonly name: string;
  /** Below the source's root. */
  readonly path: string;
  readonly url: string;
  readonly step: Step;
  readonly reason: string;
  /** Identifies the content that failed: its hash, or size and time as listed. */
  readonly content: string;
  /** It is searchable as it was before. */
  readonly isSearchable: boolean;
}

export interface ListedFailure extends ItemFailure {
  readonly sourceId: SourceId;
  readonly sourceType: string;
  /** "" if it was not acknowledged, or if reason or content have changed since. */
  readonly acknowledgedAt: string;
}

/** Failures of one kind of source with one reason. */
export interface FailureGroup {
  /** The same as long as step and reason are. */
  readonly id: string;
  readonly step: Step;
  readonly reason: string;
  /** What to do, in a sentence. */
  readonly remedy: string;
  /** New ones first. */
  readonly failures: readonly ListedFailure[];
}

/** A source that could not be read whole by its last crawl. */
export interface SourceTrouble {
  readonly sourceId: SourceId;
  readonly reason: string;
  readonly remedy: string;
}

export interface FailuresView {
  readonly domainId: DomainId;
  readonly sources: readonly SourceTrouble[];
  /** The largest first. */
  readonly groups: readonly FailureGroup[];
  readonly acknowledged: readonly FailureGroup[];
}

/** What is acknowledged, or not any more: single items, a group, or with neither everything. */
export interface FailureChoice {
  readonly domainId: DomainId;
  readonly sourceId?: SourceId | undefined;
  readonly items?: readonly string[] | undefined;
  readonly group?: string | undefined;
}

/** What failed, of all sources of a domain. */
export interface Failures {
  list(domainId: DomainId, sourceId?: SourceId): Promise<FailuresView>;
  /** Returns how many. NotFoundError if nothing of that name has failed. */
  acknowledge(choice: FailureChoice): Promise<number>;
  /** Makes them new again. */
  withdraw(choice: FailureChoice): Promise<number>;
}

type FailureParts = Pick<EngineParts, "domains" | "ledgers" | "crawlerFolder" | "itemRepository" | "now"> & {
  /** By source, what its last crawl said of it as a whole. */
  troubles(domainId: DomainId): Promise<ReadonlyMap<string, string>>;
};

export function createFailures(parts: FailureParts): Failures {
  return {
    async list(domainId, sourceId) {
      const { groups, acknowledged } = await readGroups(domainId, sourceId, parts);
      return { domainId, sources: await readTroubles(domainId, sourceId, parts), groups, acknowledged };
    },
    acknowledge: (choice) => change(choice, "acknowledge", parts),
    withdraw: (choice) => change(choice, "withdraw", parts),
  };
}

async function readTroubles(
  domainId: DomainId,
  only: SourceId | undefined,
  { domains, troubles }: FailureParts,
): Promise<SourceTrouble[]> {
  const { sources } = await domains.get(domainId);
  const said = await troubles(domainId);
  return sources.flatMap(({ sourceId, kind }) => {
    const reason = withoutItemProblems(said.get(sourceId) ?? "");
    if (reason === "" || (only !== undefined && sourceId !== only)) return [];
    return [{ sourceId, reason, remedy: kind.remedyFor?.(reason) ?? sayRemedy("download", reason) }];
  });
}

async function readGroups(
  domainId: DomainId,
  only: SourceId | undefined,
  parts: FailureParts,
): Promise<Pick<FailuresView, "groups" | "acknowledged">> {
  const { sources } = await parts.domains.get(domainId);
  const wanted = sources.filter(({ sourceId }) => only === undefined || sourceId === only);
  if (wanted.length === 0 && only !== undefined) {
    throw new NotFoundError(`Source '${only}' does not exist in domain '${domainId}'.`);
  }
  const fresh = new Map<string, FailureGroup & { failures: ListedFailure[] }>();
  const known = new Map<string, FailureGroup & { failures: ListedFailure[] }>();
  for (const config of wanted) {
    const run = { domainId, config };
    const acknowledged = await acknowledgedIn(run, parts);
    const mirror = new Mirror(parts.crawlerFolder, sourceFolder(domainId, config));
    const ledger = await parts.ledgers.open(run, { readOnly: true });
    const failures: ItemFailure[] = await Array.fromAsync(failuresIn(ledger, mirror));
    failures.push(...(await failedAddresses(run, new Set(failures.map(({ itemId }) => itemId)), parts)));
    for (const failure of failures) {
      const at = acknowledgedAt(failure, acknowledged);
      const id = groupOf(failure, config);
      const groups = at === "" ? fresh : known;
      const { step, reason } = failure;
      const group = groups.get(id) ?? {
        id,
        step,
        reason,
        remedy: config.kind.remedyFor?.(reason) ?? sayRemedy(step, reason),
        failures: [],
      };
      groups.set(id, group);
      group.failures.push({ ...failure, sourceId: config.sourceId, sourceType: config.sourceType, acknowledgedAt: at });
    }
  }
  const sorted = (groups: ReadonlyMap<string, FailureGroup>): FailureGroup[] =>
    [...groups.values()].sort((a, b) => b.failures.length - a.failures.length || (a.id < b.id ? -1 : 1));
  return { groups: sorted(fresh), acknowledged: sorted(known) };
}

function groupOf({ step, reason }: ItemFailure, { sourceType }: SourceConfig): string {
  return sha256Of([sourceType, step, reasonKey(reason)].join("\n")).slice(0, 12);
}

async function change(
  { domainId, sourceId, items, group }: FailureChoice,
  verb: "acknowledge" | "withdraw",
  parts: FailureParts,
): Promise<number> {
  const { groups, acknowledged } = await readGroups(domainId, sourceId, parts);
  const inState = verb === "acknowledge" ? groups : acknowledged;
  const inGroup = group === undefined ? inState : inState.filter(({ id }) => id === group);
  const names = items && new Set(items);
  const isNamed = ({ itemId, path, name }: ListedFailure): boolean =>
    names === undefined || names.has(itemId) || names.has(path) || names.has(name);
  const chosen = inGroup.flatMap(({ failures }) => failures).filter(isNamed);
  if (chosen.length === 0 && (items !== undefined || group !== undefined)) {
    const what = verb === "acknowledge" ? "has failed that is not acknowledged" : "is acknowledged";
    throw new NotFoundError(`Nothing of that name ${what} in domain '${domainId}'.`);
  }
  const at = parts.now().toISOString();
  for (const [source, failures] of Map.groupBy(chosen, (one) => `${one.sourceType} ${one.sourceId}`)) {
    const config = (await parts.domains.get(domainId)).sources.find(
      (one) => `${one.sourceType} ${one.sourceId}` === source,
    );
    if (!config) throw new BadInputError(`The sources of domain '${domainId}' have changed. Try again.`);
    const run = { domainId, config };
    const { acknowledgements } = parts.ledgers;
    const ids = failures.map(({ itemId }) => itemId);
    if (verb === "withdraw") await acknowledgements.remove(run, ids);
    else {
      const noted = failures.map(({ itemId, step, reason, content }) => ({ itemId, step, reason, content, at }));
      await acknowledgements.put(run, noted);
      // What does not fail any more needs none.
      const failing = new Set([...groups, ...acknowledged].flatMap((one) => one.failures.map(({ itemId }) => itemId)));
      const known = await acknowledgements.of(run);
      const solved = known.map(({ itemId }) => itemId).filter((itemId) => !failing.has(itemId));
      await acknowledgements.remove(run, solved);
    }
  }
  return chosen.length;
}

export type AcknowledgedFailures = ReadonlyMap<ItemId, AcknowledgedFailure>;

export async function acknowledgedIn(
  run: SourceRun,
  { ledgers }: Pick<EngineParts, "ledgers">,
): Promise<AcknowledgedFailures> {
  return new Map((await ledgers.acknowledgements.of(run)).map((one) => [one.itemId, one]));
}

/** "" unless it was acknowledged with this reason and content. */
export function acknowledgedAt(
  { itemId, step, reason, content }: Pick<ItemFailure, "itemId" | "step" | "reason" | "content">,
  acknowledged: AcknowledgedFailures,
): string {
  const known = acknowledged.get(itemId);
  const isSame = known?.step === step && known.content === content && reasonKey(known.reason) === reasonKey(reason);
  return isSame ? known.at : "";
}

/** Counts by step what failed in a source and is not acknowledged, and what is. */
export async function countFailures(
  run: SourceRun,
  parts: Pick<EngineParts, "ledgers" | "crawlerFolder">,
): Promise<Readonly<Record<Step, { readonly fresh: number; readonly acknowledged: number }>>> {
  const counts = {
    download: { fresh: 0, acknowledged: 0 },
    process: { fresh: 0, acknowledged: 0 },
    embed: { fresh: 0, acknowledged: 0 },
  };
  const acknowledged = await acknowledgedIn(run, parts);
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
  for await (const failure of failuresIn(await parts.ledgers.open(run, { readOnly: true }), mirror)) {
    counts[failure.step][acknowledgedAt(failure, acknowledged) === "" ? "fresh" : "acknowledged"] += 1;
  }
  return counts;
}

/** Returns what is unreadable and not acknowledged. A folder cannot be acknowledged: its content is unknown. */
export async function notAcknowledged(
  unreadable: readonly Unreadable[],
  { run, ledger }: { readonly run: SourceRun; readonly ledger: Ledger },
  parts: Pick<EngineParts, "ledgers">,
): Promise<readonly Unreadable[]> {
  const acknowledged = unreadable.length > 0 ? await acknowledgedIn(run, parts) : undefined;
  if (!acknowledged || acknowledged.size === 0) return unreadable;
  const fresh: Unreadable[] = [];
  for (const one of unreadable) {
    const { itemId, reason } = one;
    const entry = itemId && (await ledger.manifest.find([itemId])).get(itemId);
    const listed = entry ?? (itemId && (await ledger.get(itemId))?.seen);
    const content = listed ? `${listed.size} ${listed.modifiedAt}` : "";
    const at = itemId && acknowledgedAt({ itemId, step: "download", reason, content }, acknowledged);
    if (!at) fresh.push(one);
  }
  return fresh;
}

/** Yields what failed in a source, each item once. */
export async function* failuresIn(ledger: Ledger, mirror: Mirror): AsyncGenerator<ItemFailure> {
  const timeSlice = new TimeSlice();
  const seen = new Set<ItemId>();
  for await (const page of ledger.manifest.withStatus("error")) {
    for (const { docId, path, error, size, modifiedAt, contentHash } of page) {
      seen.add(docId);
      const content = `${size} ${modifiedAt}`;
      const name = path.slice(path.lastIndexOf("/") + 1);
      const isSearchable = contentHash !== "";
      yield { itemId: docId, name, path, url: "", step: "download", reason: error, content, isSearchable };
    }
  }
  for await (const entries of ledger.entries()) {
    for (const entry of entries) {
      const failure = seen.has(entry.itemId) ? undefined : failureOf(entry, mirror);
      if (failure) yield failure;
      if (timeSlice.isOver()) await timeSlice.next();
    }
  }
}

/** Registered addresses and pages that could not be read and have no entry in the ledger yet. */
async function failedAddresses(
  { domainId, config }: SourceRun,
  known: ReadonlySet<ItemId>,
  { itemRepository }: FailureParts,
): Promise<ItemFailure[]> {
  if (!config.kind.abilities.registersAddresses) return [];
  const { members, registry } = itemRepository();
  const failures: ItemFailure[] = [];
  for await (const page of members.in(domainId, config.sourceId)) {
    const ids = page.map(({ itemId }) => itemId).filter((id) => !known.has(id));
    for (const found of await registry.getMany(ids)) {
      if (found?.item.status !== "Error") continue;
      const { id: itemId, displaySource: path, scheduling } = found.item;
      const of = { itemId, name: path, path, url: path, step: "download", reason: scheduling.errorMessage } as const;
      failures.push({ ...of, content: "", isSearchable: false });
    }
  }
  return failures;
}

/** Returns undefined if nothing failed, or if there is nothing in it to index. */
function failureOf({ itemId, seen, mirrored, indexed }: LedgerEntry, mirror: Mirror): ItemFailure | undefined {
  if (!mirrored) return undefined;
  const { file, sourceError, processingError } = mirrored;
  const embeddingError = indexed?.embeddingError ?? "";
  const isAside = file !== "" && mirror.isFailed(file);
  if (file !== "" && !isAside && !sourceError && !processingError && !embeddingError) return undefined;
  if (file !== "" && !sourceError && (isEmptyReason(processingError) || isEmptyReason(embeddingError)))
    return undefined;
  const step = file === "" || sourceError ? "download" : processingError ? "process" : "embed";
  const reason = { download: sourceError, process: processingError, embed: embeddingError }[step];
  const listed = seen ?? { size: mirrored.fingerprint.size, modifiedAt: mirrored.fingerprint.modifiedAt };
  // What could not be downloaded is another content than the one on disk.
  const hash = step === "download" ? "" : (mirrored.observed?.sha256 ?? "");
  return {
    itemId,
    name: seen?.name ?? mirrored.name,
    path: file ? mirror.relativePath(file) : (seen ?? mirrored).serverPath,
    url: seen?.url ?? "",
    step,
    reason: reason || (file === "" ? "it was not downloaded" : "it cannot be read"),
    content: hash === "" ? `${listed.size} ${listed.modifiedAt}` : `sha256:${hash}`,
    isSearchable: Boolean(indexed?.fileId),
  };
}

/** Returns a key to group failures by reason: quoted names, URLs, paths and numbers are removed. */
export function reasonKey(reason: string): string {
  return reason
    .toLowerCase()
    .replaceAll(/'[^']*'|"[^"]*"|“[^”]*”/g, "…")
    .replaceAll(/https?:\/\/\S+/g, "…")
    .replaceAll(/(?:[\w.-]*\/)+[\w.-]+/g, "…")
    .replaceAll(/\d+/g, "#")
    .replaceAll(/\s+/g, " ")
    .trim();
}

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [
    /its certificate (is|has)/i,
    "Its certificate is not one that this machine trusts. Give its authority with NODE_EXTRA_CA_CERTS, or have it renewed.",
  ],
  [
    /no such host|DNS lookup|connection (was|refused)|(answer|connection) within the time limit|stopped coming|unreachable|cannot be reached/i,
    "Open the address from this machine. If that works, crawl again; if not, it is down, or a proxy or firewall is between.",
  ],
  [/password|encrypted/i, "Save it without a password at its source; the next crawl takes it. Or acknowledge it."],
  [
    /made to hurt|unpacks to far more/i,
    "It looks like an attack on whoever reads it. Look where it came from, and remove it there.",
  ],
  [
    /took too long|timed out|time ?limit|memory|reader (?:crashed|ended|was)/i,
    "Split it, or save it again in its own program. If it was the machine's load, try failed files again.",
  ],
  [/seems to be/i, "Give it the ending of what it is, at its source."],
  [
    /damaged|cannot be read as|is not (?:an? )|not text|NUL bytes|no pages|no slides|no sheets/i,
    "Open it in its own program at its source. If it opens, save it again; if not, replace or remove it. The next crawl notices.",
  ],
  [
    /cannot be read$|of type '.*' cannot/i,
    "No reader knows this format. Save it in one that docs/guides/formats.md has, or exclude it.",
  ],
  [/too large|more than the|the limit is|exceeds/i, "Split it, or raise the limit that the reason names; then crawl."],
  [
    /429|too many requests|throttl|503|busy/i,
    "The other side is busy. Every crawl tries it again; nothing is to be done unless it stays so.",
  ],
  [/no space|ENOSPC|disk is full/i, "Make room on the disk of the storage folder, then crawl."],
  [
    /api key|quota|insufficient|401/i,
    "Check the key, the quota and the settings of the backend: lockstep doctor tells more.",
  ],
];

/** A remedy for any kind of source; kinds may know a better one. */
export function sayRemedy(step: Step, reason: string): string {
  const found = PATTERNS.find(([pattern]) => pattern.test(reason));
  if (found) return found[1];
  if (step === "download")
    return "Every crawl tries it again. If it stays so, check whether it can be opened at its source.";
  if (step === "process")
    return "Open it at its source. If it looks right, crawl with retry_failed=true; if not, correct it there.";
  return "Try failed files again. If it stays so, the log of the crawl tells more.";
}

/** Sentences of crawls about failed items, which are listed one by one. */
export const ITEM_PROBLEMS = {
  download: (items: string) => `${items} could not be brought up to date on disk; the next run tries again`,
  text: (files: string) => `${files} could not be read as a document; the log says why`,
  process: (items: string) => `${items} could not be processed`,
  embed: (files: string) => `${files} could not be embedded`,
} as const;

/** No sentence has characters that mean something in a pattern. Results of earlier releases name where to look. */
const ITEM_PATTERNS = Object.values(ITEM_PROBLEMS).map(
  (say) =>
    `${say("[\\d,]+ (?:items?|files?)")}(?:; files_map.csv says why|; the job's log and vectorstore_map.csv tell more)?`,
);

/** Takes the sentences about failed items out of what a crawl said of a source. */
export function withoutItemProblems(error: string): string {
  let left = error;
  for (const pattern of ITEM_PATTERNS) {
    left = left.replaceAll(new RegExp(`(?:^|; )${pattern}`, "g"), "");
  }
  return left.replace(/^; /, "");
}
