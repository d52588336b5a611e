import { createHash } from "node:crypto";
import type { SourceRef } from "../contracts/domain.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import {
  type DomainId,
  type ItemId,
  parseDomainId,
  parseSourceId,
  parseVectorStoreId,
  type SourceId,
} from "../contracts/ids.ts";
import type { PlannedItem, PlannedSource, PlanStep, StoredPlan } from "../contracts/plan.ts";
import type { Sighting } from "../contracts/source.ts";
import type { SourceKinds } from "../contracts/source-kind.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../lib/json-object.ts";
import {
  CRAWL_MODES,
  type CrawlRequest,
  crawlRequest,
  crawlScopes,
  RETRY_BATCHES,
  STEPS,
  VISIBILITIES,
} from "./crawl-request.ts";

/*
 * Plans as JSON lines: docs/formats/plans.md. A plan in a file comes from outside. It approves items by id, path and fingerprint, and never
 * says where anything is written: what is done is what the run itself finds, if the plan has it.
 */

const FORMAT = "lockstep plan";
const VERSION = 1;

/** A line of a plan file, in their order. */
export type PlanLine =
  | { readonly kind: "head"; readonly head: PlanHead }
  | { readonly kind: "item"; readonly source: SourceRef; readonly item: PlannedItem };

export interface PlanHead extends Pick<StoredPlan, "planId" | "domainId" | "madeAt" | "request"> {
  readonly sources: readonly PlannedSource[];
}

/** The request of a dry run, as it is stored with the plan. */
export function encodePlanRequest(request: CrawlRequest): JsonObject {
  return {
    steps: request.steps,
    mode: request.mode,
    scope: request.scope,
    ...(request.sourceId !== undefined && { source_id: request.sourceId }),
    ...(request.vectorStoreId !== undefined && { vector_store_id: request.vectorStoreId }),
    force: request.force,
    visibility: request.visibility,
    confirm_deletes: request.confirmDeletes,
    confirm_worse: request.confirmWorse,
    retry_batches: request.retryBatches,
    retry_failed: request.retryFailed,
    checksum: request.checksum,
  };
}

/** Throws BadInputError. */
export function decodePlanRequest(domainId: DomainId, json: Readonly<JsonObject>, kinds: SourceKinds): CrawlRequest {
  const { source_id: source, vector_store_id: store, steps, retry_batches: batches } = json;
  const flag = (name: string): boolean => {
    const value = json[name];
    if (typeof value !== "boolean") throw new BadInputError(`'${name}' must be true or false`);
    return value;
  };
  const planned = STEPS.filter((step) => Array.isArray(steps) && steps.includes(step));
  if (planned.length === 0) throw new BadInputError(`'steps' must have some of ${STEPS.join(", ")}`);
  if (typeof batches !== "number" || !(batches >= RETRY_BATCHES.from && batches <= RETRY_BATCHES.to)) {
    throw new BadInputError(`'retry_batches' must be a number from ${RETRY_BATCHES.from} to ${RETRY_BATCHES.to}`);
  }
  return crawlRequest(domainId, {
    steps: planned,
    mode: choice(json, "mode", CRAWL_MODES),
    scope: choice(json, "scope", crawlScopes(kinds)),
    sourceId: source === undefined ? undefined : parseSourceId(String(source)),
    vectorStoreId: store === undefined ? undefined : parseVectorStoreId(String(store)),
    force: flag("force"),
    visibility: choice(json, "visibility", VISIBILITIES),
    confirmDeletes: flag("confirm_deletes"),
    // Plans of earlier releases do not say it.
    confirmWorse: json["confirm_worse"] === true,
    retryBatches: batches,
    retryFailed: flag("retry_failed"),
    checksum: flag("checksum"),
  });
}

/** Encodes a plan. `estimate` and `covers` are for people: reading skips them. */
export async function* formatPlan(
  head: PlanHead,
  items: AsyncIterable<readonly (SourceRef & { readonly item: PlannedItem })[]>,
  told: { readonly lockstep: string; readonly estimate: JsonObject; covers(source: SourceRef): string },
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  const encode = (...lines: readonly JsonObject[]): Buffer => {
    return Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  };
  const hashed = (...lines: readonly JsonObject[]): Buffer => {
    const bytes = encode(...lines);
    hash.update(bytes);
    return bytes;
  };
  const { planId, domainId, madeAt, request } = head;
  const sources = head.sources.map((source) => {
    const { sourceType, sourceId, policy, complete, problem } = source;
    const covers = told.covers(source);
    return { source_type: sourceType, source_id: sourceId, policy, complete, problem, ...(covers && { covers }) };
  });
  const about = { plan_id: planId, domain_id: domainId, made_utc: madeAt, lockstep: told.lockstep };
  yield hashed({ format: FORMAT, version: VERSION, ...about, request, sources });
  let count = 0;
  for await (const page of items) {
    yield hashed(...page.map(({ sourceType, sourceId, item }) => encodeItem({ sourceType, sourceId }, item)));
    count += page.length;
  }
  yield hashed({ estimate: told.estimate });
  yield encode({ end: true, items: count, sha256: hash.digest("hex") });
}

function encodeItem({ sourceType, sourceId }: SourceRef, item: PlannedItem): JsonObject {
  const { step, change, itemId, reason, told, sighting, anomaly, stillListed, strayedTo, bytes, tokens } = item;
  return {
    source_type: sourceType,
    source_id: sourceId,
    step,
    change,
    item_id: itemId,
    reason,
    ...(told && { shown: { name: told.name, path: told.path, reason: told.reason } }),
    ...(bytes && { bytes }),
    ...(tokens && { tokens }),
    ...(anomaly && { anomaly }),
    ...(stillListed && { still_listed: true }),
    ...(strayedTo && { strayed_to: strayedTo }),
    ...(sighting && { listed: encodeSighting(sighting) }),
  };
}

/** What decides whether an item still is as planned. Addresses are left out: they may open more than they should. */
function encodeSighting({ name, path, serverPath, fingerprint, contentHash, dateIsLabel }: Sighting): JsonObject {
  const { size, modifiedAt, etag, contentVersion } = fingerprint;
  return {
    name,
    path,
    server_path: serverPath,
    size,
    modified_utc: modifiedAt,
    etag,
    content_version: contentVersion,
    ...(contentHash && { content_hash: contentHash }),
    ...(dateIsLabel && { date_is_label: true }),
  };
}

/** A line of ours has some hundred bytes, and paths are limited. */
const MAX_LINE_BYTES = 1024 * 1024;

/**
 * Reads a plan file. Throws BadInputError, perhaps after many lines: nothing may keep to a plan that was not read to its
 * end. `name` is for messages.
 */
export async function* readPlanFile(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<PlanLine, void> {
  const hash = createHash("sha256");
  let lines = 0;
  let items = 0;
  let sources: ReadonlySet<string> | undefined;
  let hasEnded = false;
  const fail = (problem: string): never => {
    throw new BadInputError(`Plan '${name}', line ${lines}: ${problem}. Make a new plan, or copy the file again.`);
  };
  for await (const line of splitLines(bytes, MAX_LINE_BYTES, () => fail("it is longer than any line of a plan"))) {
    lines += 1;
    const json =
      parseJsonObject(line.toString("utf8")) ?? fail("it is no JSON object, so the file is damaged or no plan");
    if (hasEnded) fail("something comes after the end");
    if (json["end"] === true) {
      if (json["items"] !== items || json["sha256"] !== hash.digest("hex"))
        fail("the file was altered since it was written");
      hasEnded = true;
      continue;
    }
    hash.update(line);
    hash.update("\n");
    if (!sources) {
      const head = attempt(() => decodeHead(json), fail);
      sources = new Set(head.sources.map(keyOf));
      yield { kind: "head", head };
    } else if (!isJsonObject(json["estimate"])) {
      const [source, item] = attempt(() => [decodeSource(json), decodeItem(json)] as const, fail);
      if (!sources.has(keyOf(source))) fail(`its first line does not name the source '${source.sourceId}'`);
      items += 1;
      yield { kind: "item", source, item };
    }
  }
  if (lines === 0) throw new BadInputError(`Plan '${name}' is empty.`);
  if (!hasEnded)
    throw new BadInputError(`Plan '${name}' is cut off after line ${lines}. Copy it again, or make a new one.`);
}

function keyOf({ sourceType, sourceId }: SourceRef): string {
  return `${sourceType}/${sourceId}`;
}

function attempt<T>(read: () => T, fail: (problem: string) => never): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    return fail(explain(error).replace(/\.$/, ""));
  }
}

async function* splitLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  fail: () => never,
): AsyncGenerator<Buffer> {
  let rest: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      if (length + end - from > maxBytes) fail();
      yield Buffer.concat([...rest, chunk.subarray(from, end)]);
      [rest, length, from] = [[], 0, end + 1];
    }
    if (from < chunk.length) rest.push(chunk.slice(from));
    length += chunk.length - from;
    if (length > maxBytes) fail();
  }
  if (length > 0) yield Buffer.concat(rest);
}

function decodeHead(json: JsonObject): PlanHead {
  const { format, version, request, sources } = json;
  if (format !== FORMAT || typeof version !== "number") throw new BadInputError("it is not the first line of a plan");
  if (version > VERSION) {
    throw new BadInputError(
      `it was written by a newer release (format ${version}, this one knows ${VERSION}); update lockstep`,
    );
  }
  if (!isJsonObject(request)) throw new BadInputError("'request' must be an object");
  if (!Array.isArray(sources) || !sources.every(isJsonObject))
    throw new BadInputError("'sources' must be a list of objects");
  return {
    planId: text(json, "plan_id"),
    domainId: parseDomainId(text(json, "domain_id")),
    madeAt: text(json, "made_utc"),
    request,
    sources: sources.map((source) => ({
      ...decodeSource(source),
      policy: text(source, "policy"),
      complete: source["complete"] === true,
      problem: text(source, "problem"),
    })),
  };
}

function decodeSource(json: JsonObject): SourceRef & { readonly sourceId: SourceId } {
  const sourceType = text(json, "source_type");
  if (!/^[a-z0-9_]{1,64}$/.test(sourceType)) throw new BadInputError("'source_type' is no kind of source");
  return { sourceType, sourceId: parseSourceId(text(json, "source_id")) };
}

const PLAN_STEPS: readonly PlanStep[] = STEPS;
const CHANGES = [
  "added",
  "changed",
  "moved",
  "removed",
  "skipped",
  "held",
  "kept",
  "returned",
  "adopted",
] as const satisfies readonly PlannedItem["change"][];
const ANOMALIES = ["missing", "altered", "original", "forced"] as const satisfies readonly PlannedItem["anomaly"][];

function decodeItem(json: JsonObject): PlannedItem {
  const { shown, listed } = json;
  const itemId = text(json, "item_id") as ItemId;
  if (itemId === "") throw new BadInputError("'item_id' is empty");
  if (shown !== undefined && !isJsonObject(shown)) throw new BadInputError("'shown' must be an object");
  if (listed !== undefined && !isJsonObject(listed)) throw new BadInputError("'listed' must be an object");
  return {
    step: choice(json, "step", PLAN_STEPS),
    change: choice(json, "change", CHANGES),
    itemId,
    reason: text(json, "reason"),
    ...(shown && { told: { name: text(shown, "name"), path: text(shown, "path"), reason: text(shown, "reason") } }),
    ...(json["bytes"] !== undefined && { bytes: size(json, "bytes") }),
    ...(json["tokens"] !== undefined && { tokens: size(json, "tokens") }),
    ...(json["anomaly"] !== undefined && { anomaly: choice(json, "anomaly", ANOMALIES) }),
    ...(json["still_listed"] === true && { stillListed: true }),
    ...(json["strayed_to"] !== undefined && { strayedTo: text(json, "strayed_to") }),
    ...(listed && { sighting: decodeSighting(itemId, listed) }),
  };
}

function decodeSighting(itemId: ItemId, json: JsonObject): Sighting {
  const name = text(json, "name");
  return {
    kind: "sighting",
    itemId,
    listItemId: 0,
    name,
    path: text(json, "path"),
    serverPath: text(json, "server_path"),
    url: "",
    rawUrl: "",
    documentType: fileTypeOf(name),
    form: "document",
    fingerprint: {
      size: size(json, "size"),
      modifiedAt: text(json, "modified_utc"),
      etag: text(json, "etag"),
      contentVersion: text(json, "content_version"),
    },
    ...(json["content_hash"] !== undefined && { contentHash: text(json, "content_hash") }),
    ...(json["date_is_label"] === true && { dateIsLabel: true }),
  };
}

function text(json: Readonly<JsonObject>, name: string): string {
  const value = json[name];
  if (typeof value !== "string") throw new BadInputError(`'${name}' must be text`);
  return value;
}

function size(json: Readonly<JsonObject>, name: string): number {
  const value = json[name];
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw new BadInputError(`'${name}' must be a number, 0 or more`);
}

function choice<T extends string>(json: Readonly<JsonObject>, name: string, choices: readonly T[]): T {
  const found = choices.find((one) => one === json[name]);
  if (found !== undefined) return found;
  throw new BadInputError(`'${name}' must be one of ${choices.join(", ")}`);
}
