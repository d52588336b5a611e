import "./table.js";
import { enhance } from "./enhance.js";
import { confirmed, take } from "./forms.js";
import { watchJob } from "./job-console.js";
import { refresh } from "./refresh.js";
import { readError, startJob } from "./start-job.js";

enhance(document);
const job = document.querySelector("#console")?.dataset.job;
if (job) watchJob(job, refresh);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-crawl]")) take(event, startCrawl);
  else if (form.matches("[data-control]")) take(event, control);
  else if (form.matches("[data-check]")) take(event, check);
  else if (form.matches("[data-delete-job]")) take(event, deleteJob);
  else if (form.matches("[data-delete]")) take(event, remove);
});

async function startCrawl(form) {
  const params = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  params.set("format", "stream");
  const jobId = await startJob(`${form.getAttribute("action")}?${params}`);
  const console = document.querySelector("#console");
  if (console) {
    watchHere(jobId);
    console.scrollIntoView({ block: "nearest" });
  }
  await refresh();
}

/** The address names the job from now on, so that a reload shows it again and its plan has a place. */
function watchHere(jobId) {
  const here = new URL(location.href);
  here.searchParams.set("job_id", jobId);
  history.replaceState(history.state, "", here);
  watchJob(jobId, async () => {
    await refresh();
    const plan = document.querySelector("#plan:not([hidden])");
    plan?.scrollIntoView({ block: "nearest" });
  });
}

async function control(form) {
  const response = await fetch(`${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`);
  if (!response.ok) throw new Error(await readError(response));
  if (!form.closest("#console")) await refresh();
}

async function deleteJob(form) {
  const jobId = form.elements.namedItem("job_id").value;
  const words = "Its log and its result are gone for good. What the job did stays.";
  if (!(await ask(`Delete ${jobId}?`, words, "Delete"))) return;
  const response = await fetch(`/v2/jobs/delete?job_id=${encodeURIComponent(jobId)}`, { method: "DELETE" });
  if (!response.ok) throw new Error(await readError(response));
  if (form.closest("[data-table]")) await refresh();
  else location.assign("/v2/jobs?format=ui");
}

/** Afterwards there is nothing left to look at here: the form says where to go. */
async function remove(form) {
  const params = new URLSearchParams(new FormData(form));
  params.set("format", "json");
  const response = await fetch(`${form.getAttribute("action")}?${params}`, { method: "DELETE" });
  if (!response.ok) throw new Error(await readError(response));
  location.assign(form.dataset.delete);
}

async function ask(title, words, verb) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "confirm-title");
  dialog.innerHTML = `<form method="dialog"><h2 id="confirm-title"></h2><p></p><div class="form-end"><button>Keep it</button><button type="button" class="danger" data-confirms></button></div></form>`;
  dialog.querySelector("h2").textContent = title;
  dialog.querySelector("p").textContent = words;
  dialog.querySelector(".danger").textContent = verb;
  document.body.append(dialog);
  const answer = await confirmed(dialog);
  dialog.remove();
  return answer;
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
