import { readConsole } from "./job-console.js";
import { refresh } from "./refresh.js";

const TICK_MS = 2000;
/** Every so many ticks it is asked whether jobs began or ended: that costs little, the whole page does not. */
const LOOK_TICKS = 5;
/** Domains change without a job, too. */
const REFRESH_TICKS = 150;

let ticks = 0;
let busy = false;
/** The last jobs and their states, as they were told last. */
let seen;

look().catch(() => undefined);
// The console learns of a pause before the next tick asks for it.
document.addEventListener("job-state", () => refresh().catch(() => undefined));

setInterval(async () => {
  if (busy || document.visibilityState !== "visible") return;
  busy = true;
  try {
    ticks += 1;
    const turned = (await Promise.all([...document.querySelectorAll("[data-live-job]")].map(show))).includes(true);
    const changed = (turned || ticks % LOOK_TICKS === 0) && (await look());
    if (turned || changed || ticks % REFRESH_TICKS === 0) await refresh();
  } catch {
    // The server is away for a moment; the next tick asks again.
  } finally {
    busy = false;
  }
}, TICK_MS);

/** True when jobs began, ended or stalled since the last look. */
async function look() {
  const response = await fetch("/v2/jobs?limit=8&format=json");
  const { data } = await response.json();
  const told = JSON.stringify(data.map(({ job_id, state, stalled }) => [job_id, state, stalled]));
  const changed = seen !== undefined && seen !== told;
  seen = told;
  return changed;
}

/** Tells how far the job is; true when it is over, or in another state than the row says. */
async function show(row) {
  const told = await readConsole(row.dataset.liveJob);
  if (told?.dataset.state !== row.dataset.liveState) return true;
  row.querySelector(":scope > [data-part=log]").textContent =
    told.querySelector("[data-part=log]").lastElementChild?.textContent ?? "";
  for (const name of ["steps", "bar"]) {
    row.querySelector(`[data-part=${name}]`)?.replaceWith(told.querySelector(`[data-part=${name}]`));
  }
  return false;
}
