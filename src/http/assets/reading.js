/**
 * Shows a PDF as it is, at the cited page, with the passage marked. Pages are drawn when they come into view, by a worker that is ended
 * if it takes too long: then the text below stays what there is.
 */
const view = document.querySelector("[data-pdf]");
const TIMEOUT_MS = 20_000;
const AHEAD = "800px";
/** Larger ones are downloaded only on purpose. */
const MAX_BYTES = 60 * 1024 * 1024;

if (view) show(view).catch((error) => giveUp(view, error));

function giveUp(element, error) {
  element.hidden = true;
  const text = document.querySelector(".as-text");
  if (text) text.open = true;
  const note = document.createElement("p");
  note.className = "notice";
  note.textContent = `The pages cannot be shown here (${error.message}); this is the text of the document.`;
  element.before(note);
}

async function show(element) {
  element.hidden = false;
  const response = await fetch(element.dataset.pdf);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  if (Number(response.headers.get("content-length")) > MAX_BYTES) throw new Error("it is very large");
  const reader = new PdfReader(await response.arrayBuffer());
  const { pages } = await reader.ask("open");
  const passage = wordsOf(document.querySelectorAll(".reading .cited"));
  const frames = pages.map(({ width, height }, at) => frameOf(at + 1, width, height));
  element.querySelector("[data-part=said]").textContent = `${pages.length} ${pages.length === 1 ? "page" : "pages"}`;
  element.append(...frames);
  document.querySelector(".as-text").open = false;
  const cited = frames[Number(element.dataset.page) - 1] ?? frames[0];
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        draw(reader, entry.target, passage).catch((error) => {
          seen.disconnect();
          for (const frame of frames) frame.remove();
          giveUp(element, error);
        });
      }
    },
    { rootMargin: AHEAD },
  );
  for (const frame of frames) seen.observe(frame);
  if (Number(element.dataset.page) > 1) cited?.scrollIntoView();
}

function frameOf(number, width, height) {
  const frame = document.createElement("div");
  frame.className = "pdf-page";
  frame.dataset.number = number;
  frame.style.aspectRatio = `${width} / ${height}`;
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Page ${number}; its text is below`);
  frame.append(canvas);
  return frame;
}

async function draw(reader, frame, passage) {
  const width = Math.min(2400, Math.round(frame.clientWidth * Math.min(2, devicePixelRatio)));
  const { bitmap, spans } = await reader.ask("draw", { number: Number(frame.dataset.number), width });
  const canvas = frame.querySelector("canvas");
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext("bitmaprenderer").transferFromImageBitmap(bitmap);
  for (const { left, top, width: wide, height } of citedSpans(spans, passage)) {
    const mark = document.createElement("div");
    mark.className = "pdf-mark";
    Object.assign(mark.style, { left: `${left}%`, top: `${top}%`, width: `${wide}%`, height: `${height}%` });
    frame.append(mark);
  }
}

function wordsOf(elements) {
  return [...elements].flatMap((element) => element.textContent.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

/** Runs of so many words stand for the passage; a single one stands everywhere. */
const RUN = 4;

/** The pieces of text on the page whose words are in the passage, in runs. */
function citedSpans(spans, passage) {
  const runs = new Set();
  const size = Math.min(RUN, passage.length);
  if (size === 0) return [];
  for (let at = 0; at + size <= passage.length; at += 1) runs.add(passage.slice(at, at + size).join(" "));
  const words = spans.flatMap((span, of) =>
    (span.text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => ({ word, of })),
  );
  const cited = new Set();
  for (let at = 0; at + size <= words.length; at += 1) {
    const run = words.slice(at, at + size);
    if (runs.has(run.map(({ word }) => word).join(" "))) for (const { of } of run) cited.add(of);
  }
  return [...cited].map((of) => spans[of]);
}

/** Asks the worker, one question after the other. */
class PdfReader {
  #worker = new Worker("/assets/pdf-worker.js", { type: "module" });
  #last = Promise.resolve();

  constructor(bytes) {
    this.#worker.postMessage({ verb: "take", bytes }, [bytes]);
  }

  ask(verb, about = {}) {
    const mine = this.#last.then(
      () =>
        new Promise((resolve, reject) => {
          const late = setTimeout(() => {
            this.#worker.terminate();
            reject(new Error("it takes too long"));
          }, TIMEOUT_MS);
          const end = (settle, value) => {
            clearTimeout(late);
            settle(value);
          };
          this.#worker.onmessage = ({ data: { answer, error } }) => {
            if (error) end(reject, new Error(error));
            else if (answer) end(resolve, answer);
          };
          this.#worker.onerror = () => end(reject, new Error("its pages cannot be read"));
          this.#worker.postMessage({ verb, ...about });
        }),
    );
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
