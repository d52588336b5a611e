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
  const cited = [...document.querySelectorAll(".reading .cited")];
  const passage = lettersOf(cited.map((element) => element.textContent).join(" "));
  const frames = pages.map(({ width, height }, at) => frameOf(at + 1, width, height));
  leadToPages(frames);
  element.querySelector("[data-part=said]").textContent = `${pages.length} ${pages.length === 1 ? "page" : "pages"}`;
  element.append(...frames);
  document.querySelector(".as-text").open = false;
  // A cited sentence may stand on another page than its passage begins.
  const number = Number(/^#page-(\d+)$/.exec(location.hash)?.[1] ?? element.dataset.page);
  const wanted = frames[number - 1] ?? frames[0];
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        draw(reader, entry.target, passage, entry.target === wanted).catch((error) => {
          seen.disconnect();
          for (const frame of frames) frame.remove();
          giveUp(element, error);
        });
      }
    },
    { rootMargin: AHEAD },
  );
  for (const frame of frames) seen.observe(frame);
  if (number > 1) wanted?.scrollIntoView();
}

function frameOf(number, width, height) {
  const frame = document.createElement("div");
  frame.className = "pdf-page";
  frame.id = `page-${number}-shown`;
  frame.dataset.number = number;
  frame.style.aspectRatio = `${width} / ${height}`;
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Page ${number}; its text is below`);
  frame.append(canvas);
  return frame;
}

/** The list of contents leads to the pages, and no more to the text below them. */
function leadToPages(frames) {
  for (const link of document.querySelectorAll(".contents [data-page]")) {
    const frame = frames[Number(link.dataset.page) - 1];
    if (frame) link.hash = frame.id;
  }
}

/** `isCited`: the passage begins on it, and is brought into view. */
async function draw(reader, frame, passage, isCited) {
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
  if (isCited) frame.querySelector(".pdf-mark")?.scrollIntoView({ block: "nearest" });
}

/** Letters and digits alone: a PDF may part a word anywhere, and has ligatures of its own. */
function lettersOf(text) {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "");
}

/** Runs of so many letters stand for the passage; a single word stands everywhere. */
const RUN = 28;

/** The pieces of text on the page whose letters are in the passage, in runs. */
function citedSpans(spans, passage) {
  const size = Math.min(RUN, passage.length);
  if (size === 0) return [];
  const runs = new Set();
  for (let at = 0; at + size <= passage.length; at += 1) runs.add(passage.slice(at, at + size));
  const letters = spans.map(({ text }) => lettersOf(text));
  const page = letters.join("");
  const isCited = new Uint8Array(page.length);
  for (let at = 0; at + size <= page.length; at += 1)
    if (runs.has(page.slice(at, at + size))) isCited.fill(1, at, at + size);
  let end = 0;
  return spans.filter((_, of) => {
    const start = end;
    end += letters[of].length;
    return isCited.subarray(start, end).includes(1);
  });
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
