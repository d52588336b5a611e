const MAX_LINES = 5000;
const PROGRESS = /^\[\s*(\d+)\s*\/\s*(\d+)\s*\]/;
const POLL_MS = 2000;

let current;

/** Shows a job in the console from its first event on, and keeps following it over lost connections until it ends. */
export function watchJob(jobId, onEnd) {
  current?.stop();
  current = new Watch(document.querySelector("#console"), jobId, onEnd);
}

class Watch {
  constructor(section, jobId, onEnd) {
    this.section = section;
    this.jobId = jobId;
    this.onEnd = onEnd;
    this.over = false;
    this.part("log").replaceChildren();
    this.part("job").textContent = jobId;
    this.part("object").textContent = "";
    this.part("count").textContent = "";
    this.part("progress").removeAttribute("value");
    for (const input of section.querySelectorAll("[name=job_id]")) input.value = jobId;
    const url = `/v2/jobs/monitor?job_id=${encodeURIComponent(jobId)}&format=stream`;
    this.part("monitor").href = url;
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
    this.events.addEventListener("start_json", (event) => this.start(JSON.parse(event.data)));
    this.events.addEventListener("log", (event) => this.log(event.data));
    this.events.addEventListener("end_json", (event) => this.end(JSON.parse(event.data)));
    this.timer = setInterval(() => this.poll(), POLL_MS);
  }

  stop() {
    this.over = true;
    this.events.close();
    clearInterval(this.timer);
  }

  start(job) {
    const url = new URL(job.endpoint, location.origin);
    this.say("object", url.searchParams.get("domain_id") ?? "");
  }

  /** The stream has no event for a pause, and a job that died says nothing at all, so the state is asked for. */
  async poll() {
    try {
      const response = await fetch(`/v2/jobs/get?job_id=${encodeURIComponent(this.jobId)}`);
      const { data } = await response.json();
      if (this.over || !data.state) return;
      // A job that was ended by force may be over without its last event.
      if (!data.end_utc) this.setState(data.state, data);
      else if (this.events.readyState === EventSource.CLOSED) this.end(data);
    } catch {
      this.say("connection", "Connection lost, trying again…");
    }
  }

  log(text) {
    const list = this.part("log");
    const following = list.scrollHeight - list.scrollTop - list.clientHeight < 24;
    for (const line of text.split("\n")) {
      const entry = document.createElement("li");
      entry.textContent = line;
      if (/^\s*(ERROR|WARNING)\b/.test(line)) entry.className = "alarm";
      list.append(entry);
      this.progress(line);
      if (line === "Paused." || line === "Resumed.") this.poll();
    }
    while (list.childElementCount > MAX_LINES) list.firstElementChild.remove();
    if (following) list.scrollTop = list.scrollHeight;
  }

  progress(line) {
    const found = PROGRESS.exec(line);
    if (!found) return;
    const [, at, of] = found;
    const bar = this.part("progress");
    bar.max = Math.max(1, Number(of));
    bar.value = Number(at);
    this.say("count", `${at} / ${of}`);
  }

  end(job) {
    this.stop();
    const bar = this.part("progress");
    if (job.state === "completed") bar.value = bar.max;
    else if (!bar.hasAttribute("value")) bar.value = 0;
    this.setState(job.state, job);
    const error = job.result && !job.result.ok ? job.result.error : "";
    if (error) this.log(error);
    this.onEnd();
  }

  setState(state, job) {
    const words = stateWords(state, job);
    if (this.words === words) return;
    this.words = words;
    this.section.dataset.state = state;
    const pill = this.part("state");
    pill.textContent = words;
    pill.className = `pill ${tone(state, job)}`;
    const possible = {
      pause: state === "running",
      resume: state === "paused",
      cancel: state === "running" || state === "paused",
    };
    for (const form of this.section.querySelectorAll("[data-control]")) form.hidden = !possible[form.dataset.control];
    this.section.querySelector("[name=force]").value = String(job?.stalled === true);
    this.say("announcement", `Job ${this.jobId} ${words}.`);
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
