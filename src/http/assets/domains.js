import { announce } from "./enhance.js";
import { take } from "./forms.js";
import { editSources, readSources } from "./source-editor.js";

const TYPING_PAUSE_MS = 400;

/** By form: what it held when the page came. */
const before = new WeakMap();

for (const form of document.querySelectorAll("[data-domain-editor]")) {
  before.set(form, readDomain(form));
  editSources(form.querySelector("[data-source-editor]"));
  previewSchedule(form);
  if (!form.dataset.domainEditor) suggestId(form.elements);
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
async function save(form) {
  const id = form.dataset.domainEditor;
  const domain = readDomain(form);
  const earlier = id ? before.get(form) : {};
  const changed = Object.entries(domain).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(earlier[name]),
  );
  const address = id
    ? `/v2/domains/update?domain_id=${encodeURIComponent(id)}&format=json`
    : "/v2/domains/create?format=json";
  await send(id ? "PUT" : "POST", address, Object.fromEntries(changed));
  announce("Saved.");
  location.assign(`/v2/domains/get?domain_id=${encodeURIComponent(domain.domain_id)}&format=html`);
}

async function send(method, address, body) {
  const response = await fetch(address, {
    method,
    ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || answer.ok === false) throw new Error(answer.error || `The server answered ${response.status}.`);
  return answer;
}

/** A new domain gets its id from its name, until somebody gives it another. */
function suggestId({ name, domain_id: id }) {
  let suggested = "";
  name.addEventListener("input", () => {
    if (id.value !== suggested) return;
    const plain = name.value.normalize("NFKD").replaceAll(/\p{M}/gu, "");
    suggested = plain
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_")
      .replaceAll(/^_|_$/g, "")
      .slice(0, 64);
    id.value = suggested;
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
    if (!response.ok) return error;
    const format = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
    return data.next_run_utc ? `Next: ${format.format(new Date(data.next_run_utc))}` : "";
  } catch (error) {
    return error.name === "AbortError" ? "" : `The server cannot be reached (${error.message}).`;
  }
}
