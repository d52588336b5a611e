import { announce, enhance } from "./enhance.js";
import { confirmed, showError, take } from "./forms.js";
import { startJob } from "./start-job.js";

enhance(document);

document.addEventListener("click", (event) => {
  const opener = event.target.closest?.("[data-opens]");
  if (opener) {
    event.preventDefault();
    open(document.getElementById(opener.dataset.opens), JSON.parse(opener.dataset.values ?? "{}"));
  }
  const closer = event.target.closest?.("[data-closes]");
  if (closer) closer.closest("dialog").close();
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-send]")) take(event, send);
  else if (form.matches("[data-job]")) take(event, startWork);
});

/** One dialog serves all rows: whatever opens it says what it is about. */
function open(dialog, values) {
  for (const part of dialog.querySelectorAll("[data-text]")) {
    part.textContent = values[part.dataset.text] || "(no name)";
  }
  for (const field of dialog.querySelectorAll("[data-value]")) field.value = values[field.dataset.value] ?? "";
  for (const part of dialog.querySelectorAll("[data-when]")) {
    part.hidden = !values[part.dataset.when];
    for (const field of part.querySelectorAll("input")) {
      field.disabled = part.hidden;
      field.checked = false;
    }
  }
  showError(dialog, "");
  dialog.showModal();
}

async function send(form) {
  const method = form.dataset.send;
  const fields = new URLSearchParams(new FormData(form));
  fields.delete("format");
  const path = new URL(form.action).pathname;
  const query = method === "DELETE" ? `${fields}&format=json` : "format=json";
  const response = await fetch(`${path}?${query}`, { method, ...(method !== "DELETE" && { body: fields }) });
  await refuseFailure(response);
  form.closest("dialog")?.close();
  announce("Done.");
  if (form.dataset.then) location.assign(form.dataset.then);
  else location.reload();
}

/** Its own page shows the rest. */
async function startWork(form, submitter) {
  const fields = new URLSearchParams(new FormData(form, submitter));
  const asks = form.querySelector("[data-asks]:checked");
  if (asks && !fields.has("dry_run") && !(await confirmed(document.getElementById(asks.dataset.asks)))) return;
  fields.set("format", "stream");
  const jobId = await startJob(`${new URL(form.action).pathname}?${fields}`);
  location.assign(`/v2/jobs/get?job_id=${jobId}&format=html`);
}

async function refuseFailure(response) {
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || !answer.ok) throw new Error(answer.error || `The server answered ${response.status}.`);
}
