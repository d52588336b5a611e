import { watchJob } from "./job-console.js";

let refreshes = 0;

enhance(document);
const job = document.querySelector("#console")?.dataset.job;
if (job) watchJob(job, refresh);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-crawl]")) take(event, startCrawl);
  else if (form.matches("[data-control]")) take(event, control);
  else if (form.matches("[data-create]")) take(event, create);
  else if (form.matches("[data-check]")) take(event, check);
});

/** The form's own way of sending is the fallback; here its answer stays on the page. */
async function take(event, action) {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector("button");
  showError(form, "");
  button.disabled = true;
  try {
    await action(form);
  } catch (error) {
    showError(form, error.message);
  } finally {
    button.disabled = false;
  }
}

/**
 * Starts the job over its stream and reads the stream only up to the job id: hanging up does not stop a job.
 * An EventSource would start it again with every reconnect, so that one watches the monitor address instead.
 */
async function startCrawl(form) {
  const params = new URLSearchParams(new FormData(form));
  params.set("format", "stream");
  const hangUp = new AbortController();
  const response = await fetch(`${form.getAttribute("action")}?${params}`, { signal: hangUp.signal });
  if (!response.ok) throw new Error(await readError(response));
  const jobId = await readJobId(response.body);
  hangUp.abort();
  watchJob(jobId, refresh);
  document.querySelector("#console").scrollIntoView({ block: "nearest" });
  await refresh();
}

async function readJobId(body) {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const found = /"job_id":\s*"(jb_\d+)"/.exec(text);
    if (found) return found[1];
  }
  throw new Error("The server ended the stream before it named the job.");
}

async function control(form) {
  const params = new URLSearchParams(new FormData(form));
  params.set("format", "json");
  const response = await fetch(`${form.getAttribute("action")}?${params}`);
  if (!response.ok) throw new Error(await readError(response));
}

async function create(form) {
  const domain = Object.fromEntries(new FormData(form));
  const [site, library] = ["site_url", "sharepoint_url_part"].map(
    (name) => form.querySelector(`[data-field=${name}]`).value,
  );
  if (site !== "" || library !== "") {
    domain.file_sources = [{ source_id: "documents", site_url: site, sharepoint_url_part: library, filter: "" }];
  }
  const response = await fetch("/v2/domains/create?format=json", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(domain),
  });
  if (!response.ok) throw new Error(await readError(response));
  location.assign("/");
}

/** The findings are taken out of the page that the form would have led to. */
async function check(form) {
  const place = form.querySelector("[data-part=findings]");
  place.textContent = "Looking…";
  try {
    const response = await fetch(`${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const found = page.querySelector("[data-findings]");
    if (!found) throw new Error(`The server answered ${response.status}.`);
    place.replaceChildren(found);
  } catch (error) {
    place.replaceChildren();
    throw error;
  }
}

async function readError(response) {
  try {
    const { error } = await response.json();
    return error || `The server answered ${response.status}.`;
  } catch {
    return `The server answered ${response.status}.`;
  }
}

function showError(form, message) {
  const place = form.querySelector(".form-error") ?? document.querySelector("#console [data-part=connection]");
  place.textContent = message;
  place.hidden = message === "" && place.matches(".form-error");
}

/** Fetches this page again and takes over the parts that a job changes; what people are typing stays. */
async function refresh() {
  const turn = ++refreshes;
  const response = await fetch(location.pathname);
  const page = await response.text();
  // An answer that was overtaken by a later one would put back what is over.
  if (!response.ok || turn !== refreshes) return;
  const fresh = new DOMParser().parseFromString(page, "text/html");
  for (const part of document.querySelectorAll("[data-refresh]")) {
    const next = fresh.getElementById(part.id);
    if (!next) continue;
    enhance(next);
    part.replaceWith(next);
  }
}

/** What only makes sense with this module, and times in the reader's own zone. */
function enhance(root) {
  for (const part of root.querySelectorAll("[data-source]")) part.hidden = false;
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time")) {
    time.title = time.dateTime;
    time.textContent = format.format(new Date(time.dateTime));
  }
}
