const PROGRESS = /^\[\s*(\d+)\s*\/\s*(\d+)\s*\]/;
/** The rate is that of the last half minute, in ticks of two seconds. */
const SAMPLES = 15;
const ENOUGH_SAMPLES = 4;
const ENOUGH_ITEMS = 3;

/** The three steps of a crawl as one bar, told by the lines of its log. Each source goes through all three. */
export class CrawlSteps {
  constructor(list, left) {
    this.left = left;
    this.steps = [...list.children];
    this.lines = this.steps.map(({ dataset }) => new RegExp(dataset.lines));
    this.move(0);
    this.show();
  }

  move(step) {
    if (step === this.current) return;
    this.current = step;
    this.at = 0;
    this.of = 0;
    this.forget();
  }

  take(lines) {
    for (const line of lines) {
      const step = this.lines.findIndex((pattern) => pattern.test(line));
      if (step >= 0) this.move(step);
      const found = PROGRESS.exec(line);
      if (!found) continue;
      if (Number(found[2]) !== this.of) this.forget();
      [this.at, this.of] = [Number(found[1]), Number(found[2])];
    }
    this.show();
  }

  show() {
    const count = this.of > 0 ? `${this.at} of ${this.of}` : "running";
    const share = this.of > 0 ? this.at / this.of : 0;
    for (const [at, step] of this.steps.entries()) {
      if (at < this.current) tell(step, "done", "done", 1);
      else if (at > this.current) tell(step, "waiting", "waiting", 0);
      else tell(step, "running", count, share);
    }
  }

  /** The lines of the past come all at once, so only what is seen from tick to tick tells of the rate. */
  tick() {
    this.samples.push({ at: this.at, time: performance.now() });
    if (this.samples.length > SAMPLES) this.samples.shift();
    const [first] = this.samples;
    const done = this.at - first.at;
    const isKnown = this.samples.length >= ENOUGH_SAMPLES && done >= ENOUGH_ITEMS;
    this.left.textContent = isKnown
      ? sayLeft((((performance.now() - first.time) / done) * (this.of - this.at)) / 60_000)
      : "";
  }

  forget() {
    this.samples = [];
    this.left.textContent = "";
  }

  end(state) {
    this.forget();
    if (state === "completed") for (const step of this.steps) tell(step, "done", "done", 1);
    else tell(this.steps[this.current], "stopped", this.of > 0 ? `stopped at ${this.at} of ${this.of}` : "stopped");
  }
}

function tell(step, state, words, share) {
  step.dataset.state = state;
  step.querySelector("[data-part=words]").textContent = words;
  if (share !== undefined) step.querySelector("progress").value = share;
}

function sayLeft(minutes) {
  if (minutes < 1) return "Less than a minute left in this step.";
  if (minutes < 90) return `About ${Math.round(minutes)} min left in this step.`;
  return `About ${Math.round(minutes / 60)} h left in this step.`;
}
