import { announce } from "./enhance.js";
import { showError, take } from "./forms.js";
import { editSources, readSources, sourceWords } from "./source-editor.js";
import { startJob } from "./start-job.js";

const TYPING_PAUSE_MS = 400;

/** By form: what it held when the page came. */
const before = new WeakMap();

for (const form of document.querySelectorAll("[data-domain-editor]")) {
  before.set(form, readDomain(form));
  editSources(form.querySelector("[data-source-editor]"));
  previewSchedule(form);
  if (!form.dataset.domainEditor) suggestNames(form);
  form.querySelector("[data-create-only]")?.addEventListener("click", () => form.requestSubmit());
  for (const folded of form.querySelectorAll("[data-folds]")) folded.open = false;
  form.dataset.ready = "";
  // A field that is folded away cannot say what is wrong with it.
  form.addEventListener("invalid", ({ target }) => target.closest("details")?.setAttribute("open", ""), true);
}

document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-domain-editor]")) take(event, save);
});

function readDomain(form) {
  const { sources_json: _, ...fields } = Object.fromEntries(new FormData(form));
  return { ...fields, ...readSources(form.querySelector("[data-source-editor]")) };
}

/** Of a change only what is another than before: the vector store, for one, may have been created by a crawl meanwhile. */
async function save(form, button) {
  const crawls = button?.value === "crawl";
  if (crawls && !form.querySelector("[data-part=rows] [data-source-row]"))
    throw new Error("Choose where it is first: one of the kinds above.");
  const { domain, answer } = await keepRight(form, () => write(form));
  const id = answer.data?.domain_id ?? domain.domain_id;
  announce("Saved.");
  if (!crawls) return location.assign(domainPage(id));
  const params = new URLSearchParams({ domain_id: id, mode: "incremental", format: "stream" });
  // The domain is there: what is in the way of a crawl is told on its page.
  const jobId = await startJob(`/v2/crawler/crawl?${params}`).catch(() => undefined);
  location.assign(jobId ? `/v2/jobs/get?job_id=${jobId}&format=html` : domainPage(id));
}

function domainPage(id) {
  return `/v2/domains/get?domain_id=${encodeURIComponent(id)}&format=html`;
}

async function write(form, dryRun = "", signal = undefined) {
  const id = form.dataset.domainEditor;
  const domain = readDomain(form);
  const earlier = id ? before.get(form) : {};
  const changed = Object.entries(domain).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(earlier[name]),
  );
  const address = id
    ? `/v2/domains/update?domain_id=${encodeURIComponent(id)}&format=json${dryRun}`
    : `/v2/domains/create?format=json${dryRun}`;
  return { domain, answer: await send(id ? "PUT" : "POST", address, Object.fromEntries(changed), signal) };
}

/** By form: what goes on asking whether it is right now, after it was refused. */
const refused = new WeakMap();

/** What the server refuses is said in the form's own words, and goes when it is right. */
async function keepRight(form, action) {
  refused.get(form)?.abort();
  try {
    return await action();
  } catch (error) {
    const stop = new AbortController();
    refused.set(form, stop);
    let timer;
    let asking;
    const askAgain = async () => {
      asking?.abort();
      asking = new AbortController();
      try {
        await write(form, "&dry_run=true", AbortSignal.any([asking.signal, stop.signal]));
        if (stop.signal.aborted) return;
        stop.abort();
        showError(form, "");
      } catch (again) {
        if (again.name !== "AbortError") showError(form, inWords(form, again.message));
      }
    };
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(askAgain, TYPING_PAUSE_MS);
    };
    form.addEventListener("input", soon, { signal: stop.signal });
    stop.signal.addEventListener("abort", () => clearTimeout(timer));
    throw new Error(inWords(form, error.message));
  }
}

/** The names of the endpoint's fields become the labels of the form's. */
function inWords(form, text) {
  return sourceWords(form.querySelector("[data-source-editor]"), text)
    .replaceAll(/'(\w+)'/g, (quoted, name) => (labelOf(form, name) ? `'${labelOf(form, name)}'` : quoted))
    .replaceAll(/Missing required field: (\w+)\./g, (said, name) =>
      labelOf(form, name) ? `'${labelOf(form, name)}' must be filled in.` : said,
    );
}

function labelOf(form, name) {
  const input = form.elements.namedItem(name);
  return input?.closest?.("label")?.querySelector("span")?.textContent;
}

async function send(method, address, body, signal) {
  const response = await fetch(address, {
    method,
    signal,
    ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || answer.ok === false) throw new Error(answer.error || `The server answered ${response.status}.`);
  return answer;
}

/** A new domain is called after its first source, and its id after its name, until somebody says otherwise. */
function suggestNames(form) {
  const { name, domain_id: id } = form.elements;
  let suggestedName = "";
  let suggestedId = "";
  const suggestId = () => {
    if (id.value !== suggestedId) return;
    const plain = name.value.normalize("NFKD").replaceAll(/\p{M}/gu, "");
    suggestedId = plain
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_")
      .replaceAll(/^_|_$/g, "")
      .slice(0, 64);
    id.value = suggestedId;
  };
  name.addEventListener("input", suggestId);
  form.addEventListener("placed", ({ detail }) => {
    if (name.value !== suggestedName) return;
    suggestedName = detail;
    name.value = detail;
    suggestId();
  });
}

/** What the server would make of it: a domain that is only tried out says when it would be crawled. */
function previewSchedule(form) {
  const place = form.querySelector("[data-part=schedule]");
  let timer;
  let asking;
  form.elements.schedule.addEventListener("input", ({ target }) => {
    clearTimeout(timer);
    asking?.abort();
    place.textContent = "";
    if (target.value.trim() === "") return;
    timer = setTimeout(async () => {
      asking = new AbortController();
      place.textContent = await nextRuns(target.value.trim(), asking.signal);
    }, TYPING_PAUSE_MS);
  });
}

async function nextRuns(schedule, signal) {
  try {
    const response = await fetch("/v2/domains/create?dry_run=true&format=json", {
      method: "POST",
      headers: { "content-type": "application/json" },
      // Any id that no domain has; crypto.randomUUID is not there over plain http.
      body: JSON.stringify({ domain_id: `preview-${Date.now()}`, name: "Preview", schedule }),
      signal,
    });
    const { error, data } = await response.json();
    if (!response.ok) return inWords(document.querySelector("[data-domain-editor]"), error);
    const format = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
    return data.next_run_utc ? `Next: ${format.format(new Date(data.next_run_utc))}` : "";
  } catch (error) {
    return error.name === "AbortError" ? "" : `The server cannot be reached (${error.message}).`;
  }
}
