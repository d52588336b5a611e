import { announce } from "./enhance.js";
import { take } from "./forms.js";
import { refresh } from "./refresh.js";
import { readError } from "./start-job.js";

const TYPING_PAUSE_MS = 250;
const LOOK_AGAIN_MS = 5000;

let timer;
let asking;

document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-add-url]")) take(event, add);
  else if (event.target.matches("[data-force]")) take(event, force);
});

const form = document.querySelector("[data-add-url]");
form?.addEventListener("input", ({ target }) => {
  if (target.name === "url" || target.name === "domain_id") previewSoon();
});

setTimeout(lookAgain, LOOK_AGAIN_MS);

/** As long as something is about to happen; a server that cannot be reached may be back the next time. */
async function lookAgain() {
  if (!document.hidden && document.querySelector("[data-unsettled]")) await refresh().catch(() => undefined);
  setTimeout(lookAgain, LOOK_AGAIN_MS);
}

function previewSoon() {
  clearTimeout(timer);
  asking?.abort();
  timer = setTimeout(preview, TYPING_PAUSE_MS);
}

/** What the server would make of it: it registers nothing and asks nobody. */
async function preview() {
  const place = form.querySelector("[data-part=preview]");
  const url = form.elements.url.value.trim();
  if (url === "") return place.replaceChildren();
  asking = new AbortController();
  try {
    const response = await post("/v2/ingest/items/create?dry_run=true&format=json", { url }, asking.signal);
    const { error, data } = await response.json();
    if (!response.ok) return place.replaceChildren(error);
    const id = Object.assign(document.createElement("code"), { textContent: data.id });
    place.replaceChildren("Will be known as ", wrapped(data.displaySource), " · ", id);
  } catch (error) {
    if (error.name !== "AbortError") place.replaceChildren(`The server cannot be reached (${error.message}).`);
  }
}

function wrapped(words) {
  return Object.assign(document.createElement("bdi"), { textContent: words });
}

async function add(sent) {
  const fields = Object.fromEntries(new FormData(sent));
  const response = await post("/v2/ingest/items/create?format=json", fields);
  if (!response.ok) throw new Error(await readError(response));
  const { data } = await response.json();
  location.assign(`/v2/ingest/items/get?item_id=${encodeURIComponent(data.id)}&format=html`);
}

async function force(sent) {
  const id = sent.elements.id.value;
  const address = `/v2/ingest/items/update?item_id=${encodeURIComponent(id)}&format=json`;
  const response = await fetch(address, { method: "PUT" });
  if (!response.ok) throw new Error(await readError(response));
  announce("It is queued and indexed again soon.");
  await refresh();
}

function post(address, fields, signal) {
  return fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(fields),
    ...(signal && { signal }),
  });
}
