import { html } from "hono/html";
import type { ShownChange } from "../endpoints/audit-endpoints.ts";
import type { Answer } from "../routing/endpoint.ts";
import { shownTime } from "./display.ts";
import { fieldWords } from "./json-table.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { pagedTable } from "./paged-table.ts";

interface AuditArguments {
  readonly limit: number;
  readonly offset: number;
  readonly filter: string;
}

export function auditPage(
  { data, page }: Answer<readonly ShownChange[]>,
  { limit, offset, filter }: AuditArguments,
  frame: Frame,
): Html {
  return layout({
    frame,
    title: "Audit · lockstep",
    body: html`<header class="page-head"><h1>Audit</h1>
<p class="lede">Who changed what, newest first: also what was refused, and who signed in. 13 months are kept.</p></header>
${pagedTable<ShownChange>({
  id: "audit",
  caption: "Changes",
  columns: [
    { title: "When", cell: ({ utc }) => html`<span class="nowrap">${shownTime(utc)}</span>` },
    { title: "What", cell: sentence },
    { title: "Outcome", cell: shownOutcome },
  ],
  rows: data,
  listing: { limit, offset, sort: undefined, filter },
  page,
  empty: filter === "" ? "Nothing was changed yet." : "Nothing matches the filter.",
  frame,
})}`,
  });
}

const TONES: Readonly<Record<ShownChange["outcome"], string>> = { done: "good", failed: "bad", unfinished: "warn" };

function shownOutcome({ outcome, error }: ShownChange): Html {
  return html`<span class="pill ${TONES[outcome]}">${outcome}</span>${error === "" ? "" : html` ${error}`}`;
}

/** Renders "admin created domain 'HR'", with the arguments of the call in a fold below it. */
function sentence({ who, kind, role, from, action, what, outcome }: ShownChange): Html {
  const given = Object.entries(what).filter(([, value]) => isTold(value));
  const object = OBJECTS.map((name) => what[name]).find((value) => typeof value === "string" && value !== "");
  const about = object === undefined ? "" : html` <strong><bdi>${object}</bdi></strong>`;
  const by = kind === "local" ? "Somebody on this machine" : html`<bdi>${who}</bdi>`;
  return html`<p>${by} ${wordsOf(action, outcome === "done")}${about}</p>
<details class="change-details"><summary>Details</summary><dl class="facts">
<div><dt>Called</dt><dd><code>${action}</code></dd></div>
<div><dt>By</dt><dd>${kind}, role ${role}${from ? html`, from ${from}` : ""}</dd></div>
${given.map(([name, value]) => html`<div><dt>${fieldWords(name)}</dt><dd><bdi>${shownValue(value)}</bdi></dd></div>`)}
</dl></details>`;
}

/** Arguments that name the object of a change; the first one present is shown. */
const OBJECTS = [
  "domain_id",
  "job_id",
  "report_id",
  "plan_id",
  "vector_store_id",
  "file_id",
  "item_id",
  "key_id",
  "name",
  "url",
];

/** Whether an argument is shown: absent, empty and false ones are not. */
function isTold(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && value !== false;
}

const DONE: Readonly<Record<string, string>> = {
  acknowledge: "acknowledged",
  add: "added",
  allow: "allowed again",
  choose: "chose",
  dismiss: "dismissed",
  hold: "held",
  make: "made",
  rebuild: "rebuilt",
  remove: "removed",
  replicate: "copied",
  create: "created",
  update: "changed",
  delete: "deleted",
  rename: "renamed",
  crawl: "crawled",
  control: "controlled",
  apply: "applied",
  verify: "verified",
  repair: "repaired",
  rollback: "rolled back",
  release: "released",
  erase: "erased",
};

/** Paths that do not end with a verb. */
const SENTENCES: Readonly<Record<string, readonly [done: string, tried: string]>> = {
  feedback: ["voted on an answer", "tried to vote on an answer"],
  "documents/lift_hold": ["lifted the hold of a document", "tried to lift the hold of a document"],
  "domains/uploads/put": ["uploaded files to", "tried to upload files to"],
  "domains/uploads/remove": ["removed an uploaded file from", "tried to remove an uploaded file from"],
  "domains/questions/limits": ["changed the limits for questions of", "tried to change the limits for questions of"],
};

/** Returns "created domain" for "POST /v2/domains/create", or the words of the path if it has no known verb. Other actions, such as sign-ins, stay as they are. */
function wordsOf(action: string, isDone: boolean): string {
  const [, method = "", wire, path] = /^([A-Z]+) \/(?:v2\/|(openai\/))?(.+)$/.exec(action) ?? [];
  if (wire !== undefined && path !== undefined) return wireWords(method, path.split("/"), isDone);
  if (path === undefined) return isDone ? action.replace(/^sign /, "signed ") : `tried: ${action}`;
  const sentence = SENTENCES[path];
  if (sentence) return sentence[isDone ? 0 : 1];
  const words = path.split("/").map((part) => part.replaceAll("_", " "));
  const verb = words.at(-1) ?? "";
  const done = DONE[verb];
  const noun = words.at(-2)?.replace(/s$/, "");
  if (done === undefined || noun === undefined) return words.join(" ");
  const said = isDone ? done : `tried to ${verb}`;
  return noun === "crawler" ? said : `${said} ${noun}`;
}

const WIRE_DONE: Readonly<Record<string, string>> = { cancel: "cancelled", complete: "completed" };

/** Returns "created a file of a vector store" for "POST /openai/vector_stores/vs_1/files": there, the method is the verb, or the path ends with one. */
function wireWords(method: string, parts: readonly string[], isDone: boolean): string {
  const isName = (part: string): boolean => /^[a-z_]+$/.test(part);
  const [last = ""] = parts.slice(-1);
  const own = Object.hasOwn(WIRE_DONE, last) ? last : "";
  const verb = own || (method === "DELETE" ? "delete" : isName(last) ? "create" : "update");
  const nouns = parts
    .filter((part) => isName(part) && part !== own)
    .map((part) => part.replaceAll("_", " ").replace(/(?<=ch)es$|s$/, ""));
  const noun = nouns.toReversed().map((one) => `${/^[aeiou]/.test(one) ? "an" : "a"} ${one}`);
  return `${isDone ? { ...DONE, ...WIRE_DONE }[verb] : `tried to ${verb}`} ${noun.join(" of ")}`;
}

function shownValue(value: unknown): string {
  const shown = typeof value === "string" ? value : JSON.stringify(value);
  return shown.length > 300 ? `${shown.slice(0, 300)}…` : shown;
}
