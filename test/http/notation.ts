/** The shorthand list of the specification, word for word; what stands below an entry there is in ADDITIONS. */
export const SPECIFICATION = [
  "- L(u): `/v2/inventory` - UI for managing inventory ",
  "- L(jhu)G(jh)D(jhs): `/v2/inventory/files` - Files in the connected Open AI backend",
  "- L(jhu)C(jhs)G(jh)U(jhs)D(jhs): `/v2/inventory/vector_stores` - Vector stores in the connected Open AI backend",
  "- L(jh)G(jh)D(jhs): `/v2/inventory/vector_stores/files` - Embedded files in vector stores in the connected Open AI backend",
  "- L(jhu)C(jhs)G(jh)U(jhs)D(jhs): `/v2/inventory/assistants` - Assistants in the connected Open AI backend",
  "- L()C(jh)G(jh)D(jh): `/v2/inventory/responses` - Model responses in the connected Open AI backend",
  "- L(jhu)C(jhs)G(jh)U(jhs)D(jhs): `/v2/domains` - Knowledge domains to be used for crawling and semantic search",
  "- L(u): `/v2/crawler` - UI for crawling SharePoint sites and see current status",
  "- L(jhs): `/v2/crawler/download_data?domain_id={id}&mode=[full|incremental]&scope=[all|files|lists|sitepages]&source_id={id}&dry_run=false`",
  "- L(jhs): `/v2/crawler/process_data?domain_id={id}&mode=[full|incremental]&scope=[all|files|lists|sitepages]&source_id={id}&dry_run=false`",
  "- L(jhs): `/v2/crawler/embed_data?domain_id={id}&vector_store_id={id}&mode=[full|incremental]&scope=[all|files|lists|sitepages]&source_id={id}&dry_run=false`",
  "- L(jhs): `/v2/crawler/crawl?domain_id={id}&mode=[full|incremental]&scope=[all|files|lists|sitepages]&source_id={id}&dry_run=false`",
  "- L(jhu)G(jh)D(jh): `/v2/jobs` - Manage long-running jobs that are triggered by other endpoints (crawler, inventory)",
  "- L(): `/v2/jobs/control?job_id={id}&action=[pause|resume|cancel]`",
  "- L(jhs): `/v2/jobs/monitor?job_id={id}` - Monitor long-running jobs",
  "- L(jh): `/v2/jobs/results?job_id={id}` - Return `result` JSON from `end_json` event of the stream",
] as const;

/**
 * Endpoints that came later or are only told in words, in the same notation; `r` is the bytes as they are, `c` a table
 * for spreadsheets, and `A` something that is done, by POST or by GET.
 */
export const ADDITIONS = [
  "- L(jhs): `/v2/inventory/vector_stores/replicate?source_vector_store_ids={id}&target_vector_store_ids={id}&remove_target_files_not_in_sources=[true|false]`",
  "- L(jhs): `/v2/crawler/cleanup_metadata?domain_id={id}&dry_run=false`",
  "- L(jhu)G(jh)D(jh): `/v2/reports` - What finished crawls left",
  "- L(rjhc): `/v2/reports/file?report_id={id}&file_path={path}` - One file of a report",
  "- L(jhu)G(jhu)D(jh): `/v2/crawler/plans` - Plans that dry runs stored",
  "- L(r): `/v2/crawler/plans/file?plan_id={id}` - A plan as JSON lines",
  "- A(jhs): `/v2/crawler/apply?plan_id={id}&strict=[true|false]&dry_run=false` - Carries out a plan, as far as everything is as planned",
  "- L(z): `/v2/crawler/maps?domain_id={id}&source_id={id}` - The map files of a domain's sources, as they are now",
  "- L(z): `/v2/reports/download?report_id={id}` - A whole report",
  "- L(jh): `/v2/domains/check?domain_id={id}` - What a crawl of the domain would meet",
  "- L(jh): `/v2/domains/check_source?source_type={type}&site_url={url}&sharepoint_url_part={path}&list_name={name}&filter={odata}&source_id={id}&start_urls={urls}` - The same of a source that is in no domain yet",
  "- L(jh): `/v2/describe?domain_id={id}` - What can be searched, and how far it is proved",
  "- L(jhu): `/v2/search?query={text}&domain_id={id}&certificate=[true|false]` - Passages",
  "- L(jhs): `/v2/search/answer?query={text}&domain_id={id}&model=[true|false]` - The answer to a question, each sentence with its sources",
  "- L(jh): `/v2/search/explain?domain_id={id}&query={text}&document={name}` - Why a document is found, or not",
  "- L(jhs): `/v2/crawler/verify?domain_id={id}&download=[true|false]&quick=[true|false]&repair=[true|false]&prove={item}` - Whether source, mirror and index say the same",
  "- L(jhs): `/v2/maintenance?domain_id={id}&unreferenced=[true|false]&confirm_deletes=[true|false]&dry_run=false` - Takes away what nobody needs",
  "- L(jhu): `/v2/audit?filter={text}` - Who changed what",
  "- L(jh)G(jh): `/v2/documents?domain_id={id}&source_id={id}&status=[active|missing|error|deleted]` - Files without ids, and how each stands",
  "- L(rjh): `/v2/documents/version?domain_id={id}&document={path}&version_id={id}` - What a document said",
  "- A(jhs): `/v2/documents/erase?domain_id={id}&document={path}&item_id={id}&source_id={id}&search={text}&copies=[true|false]&reason={text}&confirm_deletes=[true|false]&dry_run=false` - Removes documents from everywhere",
  "- L(jh): `/v2/documents/erased?domain_id={id}` - What was erased, and what is held",
  "- A(jh): `/v2/documents/allow?domain_id={id}&item={id}` - Lets an erased item be crawled again",
  "- A(jh): `/v2/documents/hold?domain_id={id}&document={path}&item_id={id}&source_id={id}&reason={text}` - Neither erased nor purged",
  "- A(jh): `/v2/documents/lift_hold?domain_id={id}&source_id={id}&item={id}`",
  "- L(jhr): `/v2/documents/read?domain_id={id}&source_id={id}&item_id={id}&passage={number}&offset={number}` - A document as readers find it",
  "- L(jh): `/v2/documents/failed?domain_id={id}&source_id={id}` - What failed, until it is solved",
  "- A(jh): `/v2/documents/acknowledge?domain_id={id}&source_id={id}&item={id}&group={id}&withdraw=[true|false]` - It is known",
  "- L(jh): `/v2/documents/difference?domain_id={id}&document={path}&from={id}&to={id}` - What changed in it",
  "- L(jh): `/v2/documents/sections?domain_id={id}&document={path}&generation={number}` - Its sections, as the index has them",
  "- L(jh): `/v2/answers` - Which language model writes answers",
  "- A(jh): `/v2/answers/choose?server={name}&model={name}&dry_run=false`",
  "- L(jh): `/v2/domains/generations?domain_id={id}` - What readers of a domain saw after each commit",
  "- L(jh): `/v2/domains/generations/difference?domain_id={id}&from={number}&to={number}`",
  "- A(jh): `/v2/domains/generations/rollback?domain_id={id}&generation={number}&dry_run=false`",
  "- A(jh): `/v2/domains/generations/release?domain_id={id}&dry_run=false`",
  "- L(jh): `/v2/domains/feedback?domain_id={id}` - What was asked in vain",
  "- A(jh): `/v2/domains/feedback/dismiss?domain_id={id}&question={text}` - It is solved",
  "- L(jh): `/v2/domains/questions?domain_id={id}` - What readers of a domain ask",
  "- L(jh): `/v2/domains/questions/ask?domain_id={id}`",
  "- A(jh): `/v2/domains/questions/add?domain_id={id}&question={text}&document={path}&source_id={id}&words={text}`",
  "- A(jh): `/v2/domains/questions/remove?domain_id={id}&question={text}`",
  "- A(jh): `/v2/domains/questions/make?domain_id={id}&count={number}`",
  "- A(jh): `/v2/domains/questions/limits?domain_id={id}&max_drop={number}&min_lost={number}`",
  "- L(jh): `/v2/domains/uploads?domain_id={id}` - Files that were uploaded to a domain",
  "- A(jh): `/v2/domains/uploads/remove?domain_id={id}&path={path}&crawl=[true|false]`",
  "- L(jh): `/v2/domains/certificates?domain_id={id}` - What was proved of a domain",
  "- L(rjh): `/v2/domains/certificates/get?domain_id={id}&certificate={id}` - One certificate",
  "- L(jhu)C(jh)G(jh)U(jh)D(jh): `/v2/ingest/items` - The registry: what is known of every address",
  "- A(jhs): `/v2/ingest/rebuild?domain_id={id}&force=[true|false]&mode=[soft|blueGreen]&dry_run=false` - Looks at all of them again",
  "- L(jh): `/v2/ingest/status?domain_id={id}` - How many, in which state",
  "- L(r): `/v2/ingest/images/get?item_id={id}&image_id={id}&size=[full|thumbnail]` - A picture of a page",
] as const;

/** Those that take bytes or a body and make nothing that is listed: the notation has no letter for them, and their own tests call them. */
export const WITH_BYTES = ["/v2/domains/uploads/put", "/v2/feedback"] as const;

/** Those that need a key, because from the first one on everybody has to bring one. */
export const WITH_A_KEY = ["- L(jhu)C(j)D(j): `/v2/keys` - API keys, with which others come in"] as const;

/** Where the product differs on purpose, and what stands for it then. */
export const EXCEPTIONS: Readonly<Record<string, readonly [from: string, to: string, why: string]>> = {
  "/v2/inventory/responses": ["L()", "L(jh)", "OpenAI lists no responses, so those created here are listed"],
  "/v2/jobs/control": ["L()", "L(j)", "whoever asks a job for something is told in JSON whether it was asked"],
};

export type Letter = "L" | "A" | "C" | "G" | "U" | "D";

/** One address that follows from a line. */
export interface Expected {
  readonly letter: Letter;
  /** `/v2/icecreams` */
  readonly resource: string;
  /** `/v2/icecreams/create` */
  readonly path: string;
  readonly methods: readonly string[];
  readonly formats: readonly string[];
  /** The parameters that the line itself names. */
  readonly parameters: readonly string[];
}

const ACTIONS: Readonly<Record<Letter, { readonly suffix: string; readonly methods: readonly string[] }>> = {
  L: { suffix: "", methods: ["GET"] },
  A: { suffix: "", methods: ["POST", "GET"] },
  C: { suffix: "/create", methods: ["POST"] },
  G: { suffix: "/get", methods: ["GET"] },
  U: { suffix: "/update", methods: ["PUT"] },
  D: { suffix: "/delete", methods: ["DELETE", "GET"] },
};

const FORMATS: Readonly<Record<string, string>> = {
  j: "json",
  h: "html",
  u: "ui",
  s: "stream",
  z: "zip",
  r: "raw",
  c: "csv",
};

/** What a line of the notation stands for. */
export function expand(line: string): Expected[] {
  const match = /^(?:- )?((?:[LACGUD]\([a-z]*\))+): `([^`?]+)(?:\?([^`]*))?`/.exec(line);
  if (!match) throw new Error(`not in the notation: ${line}`);
  const [, actions = "", resource = "", query = ""] = match;
  const [from = "", to = ""] = EXCEPTIONS[resource] ?? [];
  const parameters = [...new URLSearchParams(query).keys()];
  return [...actions.replace(from, to).matchAll(/([LACGUD])\(([a-z]*)\)/g)].map(([, letter, formats = ""]) => {
    const { suffix, methods } = ACTIONS[letter as Letter];
    return {
      letter: letter as Letter,
      resource,
      path: resource + suffix,
      methods,
      formats: [...formats].map((one) => FORMATS[one] ?? one),
      parameters: suffix === "" ? parameters : [],
    };
  });
}
