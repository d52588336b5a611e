/** The rate is that of the last half minute, in ticks of two seconds. */
const SAMPLES = 15;
const ENOUGH_SAMPLES = 4;
const ENOUGH_ITEMS = 3;

/** How long a step will take, by the counts that the server writes on the bar of the steps (data-at of data-of). */
export class StepClock {
  constructor(left) {
    this.left = left;
    this.forget();
  }

  /** What is seen from tick to tick tells of the rate. */
  tick({ now, at, of }) {
    if (now !== this.now || of !== this.of) this.forget();
    [this.now, this.of] = [now, of];
    this.samples.push({ at: Number(at), time: performance.now() });
    if (this.samples.length > SAMPLES) this.samples.shift();
    const [first] = this.samples;
    const done = at - first.at;
    const isKnown = this.samples.length >= ENOUGH_SAMPLES && done >= ENOUGH_ITEMS;
    this.left.textContent = isKnown ? sayLeft((((performance.now() - first.time) / done) * (of - at)) / 60_000) : "";
  }

  forget() {
    this.samples = [];
    this.left.textContent = "";
  }
}

function sayLeft(minutes) {
  if (minutes < 1) return "Less than a minute left in this step.";
  if (minutes < 90) return `About ${Math.round(minutes)} min left in this step.`;
  return `About ${Math.round(minutes / 60)} h left in this step.`;
}
