import { StepClock } from "./crawl-steps.js";
import { JobLog } from "./job-log.js";

const PROGRESS = /^\[\s*(\d+)\s*\/\s*(\d+)\s*\]/;
const ERROR = /^\s*(\[[\s\d/]+\]\s*)?ERROR\b/;
const POLL_MS = 2000;

let current;

/** Shows a job in the console from its first event on, and keeps following it over lost connections until it ends. */
export function watchJob(jobId, onEnd) {
  current?.stop();
  current = new Watch(document.querySelector("#console"), jobId, onEnd);
}

/** The console as the server draws it now; null if there is no such job any more. */
export async function readConsole(jobId) {
  const response = await fetch(`/v2/jobs/get?job_id=${encodeURIComponent(jobId)}&format=html`);
  return new DOMParser().parseFromString(await response.text(), "text/html").querySelector("#console");
}

class Watch {
  constructor(section, jobId, onEnd) {
    this.section = section;
    this.jobId = jobId;
    this.onEnd = onEnd;
    this.over = false;
    this.log = new JobLog({
      list: this.part("log"),
      find: this.part("find"),
      alarms: this.part("alarms"),
      found: this.part("found"),
      older: this.part("older"),
      onLines: (lines) => this.tell(lines),
    });
    this.clock = new StepClock(this.part("left"));
    /** The server has shown it as what it is. */
    this.isShown = section.dataset.job === jobId;
    this.part("job").textContent = jobId;
    this.part("job").href = `/v2/jobs/get?job_id=${encodeURIComponent(jobId)}&format=html`;
    if (!this.isShown) this.part("object").textContent = "";
    this.part("count").textContent = "";
    this.part("progress").removeAttribute("value");
    for (const input of section.querySelectorAll("[name=job_id]")) input.value = jobId;
    const url = `/v2/jobs/monitor?job_id=${encodeURIComponent(jobId)}&format=stream`;
    for (const link of section.querySelectorAll("[data-part=monitor]")) link.href = url;
    section.dataset.job = jobId;
    section.hidden = false;
    this.setState("running");
    this.listen(url);
  }

  listen(url) {
    this.events = new EventSource(url);
    this.events.addEventListener("open", () => this.say("connection", ""));
    this.events.addEventListener("error", () => {
      const closed = this.events.readyState === EventSource.CLOSED;
      this.say("connection", closed ? "The event stream has ended." : "Connection lost, trying again…");
    });
    this.events.addEventListener("start_json", () => this.start().catch(() => undefined));
    this.events.addEventListener("log", (event) => this.log.add(event.data));
    this.events.addEventListener("end_json", (event) => this.end(JSON.parse(event.data)));
    this.timer = setInterval(() => this.poll(), POLL_MS);
  }

  stop() {
    this.over = true;
    this.events.close();
    clearInterval(this.timer);
    this.log.flush();
  }

  /** What kind of job it is, and how it is called, the server has words for. */
  async start() {
    if (this.isShown) return;
    this.isShown = true;
    const told = await readConsole(this.jobId);
    if (!told || current !== this) return;
    const part = (name) => told.querySelector(`[data-part=${name}]`);
    this.say("object", part("object").textContent);
    this.part("bar").hidden = part("bar").hidden;
    this.part("steps").replaceWith(part("steps"));
    if (!this.wasOpened) this.part("fold").open = part("fold").open;
  }

  /** Where a crawl is, the server draws. */
  async showSteps() {
    if (this.part("steps").hidden) return;
    const told = await readConsole(this.jobId);
    if (told && current === this) this.part("steps").replaceWith(told.querySelector("[data-part=steps]"));
  }

  /** The stream has no event for a pause, and a job that died says nothing at all, so the state is asked for. */
  async poll() {
    try {
      const response = await fetch(`/v2/jobs/get?job_id=${encodeURIComponent(this.jobId)}`);
      const { data } = await response.json();
      if (this.over || !data.state) return;
      // A job that was ended by force may be over without its last event.
      if (!data.end_utc) {
        this.setState(data.state, data);
        await this.showSteps();
        if (data.state === "running" && !data.stalled) this.clock.tick(this.part("steps").dataset);
        else this.clock.forget();
      } else if (this.events.readyState === EventSource.CLOSED) this.end(data);
    } catch {
      this.say("connection", "Connection lost, trying again…");
    }
  }

  /** What the lines say about the job itself; of many at once, the last word counts. */
  tell(lines) {
    const found = PROGRESS.exec(lines.findLast((line) => PROGRESS.test(line)) ?? "");
    if (found) {
      const [, at, of] = found;
      const bar = this.part("progress");
      bar.max = Math.max(1, Number(of));
      bar.value = Number(at);
      this.say("count", `${at} / ${of}`);
    }
    if (lines.some((line) => ERROR.test(line))) this.openLog();
    if (!this.over && lines.some((line) => line === "Paused." || line === "Resumed.")) this.poll();
  }

  async end(job) {
    const error = job.result && !job.result.ok ? job.result.error : "";
    if (error) {
      this.log.add(error);
      this.openLog();
    }
    this.stop();
    this.clock.forget();
    await this.showSteps().catch(() => undefined);
    if (current !== this) return;
    const bar = this.part("progress");
    if (job.state === "completed") bar.value = bar.max;
    else if (!bar.hasAttribute("value")) bar.value = 0;
    this.setState(job.state, job);
    this.onEnd();
  }

  /** Once: whoever closes it again does not want it. */
  openLog() {
    if (!this.wasOpened) this.part("fold").open = true;
    this.wasOpened = true;
  }

  setState(state, job) {
    const words = stateWords(state, job);
    if (this.words === words) return;
    this.words = words;
    this.section.dataset.state = state;
    const pill = this.part("state");
    pill.textContent = words;
    pill.className = `pill ${tone(state, job)}`;
    const stalled = job?.stalled === true;
    const possible = {
      pause: state === "running" && !stalled,
      resume: state === "paused" && !stalled,
      cancel: state === "running" || state === "paused",
    };
    for (const form of this.section.querySelectorAll("[data-control]")) form.hidden = !possible[form.dataset.control];
    this.showForce(stalled);
    // Other parts of the page tell of the same job.
    if (!this.over) document.dispatchEvent(new Event("job-state"));
    this.say("announcement", `Job ${this.jobId} ${words}.`);
  }

  /** Who may only watch has no buttons. */
  showForce(stalled) {
    const cancel = this.section.querySelector("[data-control=cancel]");
    if (!cancel) return;
    cancel.querySelector("[name=force]").value = String(stalled);
    cancel.querySelector("button").textContent = stalled ? "Force cancel" : "Cancel";
  }

  part(name) {
    return this.section.querySelector(`[data-part=${name}]`);
  }

  say(name, text) {
    this.part(name).textContent = text;
  }
}

function stateWords(state, job) {
  if (job?.stalled) return "stalled";
  return state === "completed" && !job?.result?.ok ? "completed with problems" : state;
}

function tone(state, job) {
  if (job?.stalled || state === "cancelled") return "warn";
  if (state === "completed") return job?.result?.ok ? "good" : "bad";
  return "busy";
}
