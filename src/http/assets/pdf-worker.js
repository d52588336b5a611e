/** Reads a PDF and draws its pages, away from the page: whatever a document does, it does it here, and can be ended. */
import { getDocument } from "/assets/pdfjs.js";

let opened;
let bytes;

// In a worker, pdf.js takes the messages for its own: it passes over ours, and the page passes over what it sends.
self.onmessage = async ({ data }) => {
  if (!data.verb) return;
  if (data.verb === "take") {
    bytes = data.bytes;
    return;
  }
  try {
    if (data.verb === "open") postMessage({ answer: await open() });
    else {
      const drawn = await draw(data);
      postMessage({ answer: drawn }, [drawn.bitmap]);
    }
  } catch (error) {
    postMessage({ error: error?.name === "PasswordException" ? "it has a password" : "it is damaged, or no PDF" });
  }
};

/** More pages are scrolled to nobody's use; the text has them all. */
const MAX_PAGES = 2000;

async function open() {
  opened = await getDocument({
    data: new Uint8Array(bytes),
    disableFontFace: true,
    useSystemFonts: false,
    isEvalSupported: false,
    enableXfa: false,
    stopAtErrors: false,
    verbosity: 0,
    CanvasFactory: OffscreenCanvases,
    FilterFactory: NoFilters,
  }).promise;
  const first = (await opened.getPage(1)).getViewport({ scale: 1 });
  const pages = [];
  for (let number = 1; number <= Math.min(opened.numPages, MAX_PAGES); number += 1) {
    // Asking every page of a book for its size takes seconds: the first ones tell, the others are mostly alike.
    const { width, height } = number <= 20 ? (await opened.getPage(number)).getViewport({ scale: 1 }) : first;
    pages.push({ width, height });
  }
  return { pages };
}

async function draw({ number, width }) {
  const page = await opened.getPage(number);
  const viewport = page.getViewport({ scale: width / page.getViewport({ scale: 1 }).width });
  const canvas = new OffscreenCanvas(Math.ceil(viewport.width), Math.ceil(viewport.height));
  const canvasContext = canvas.getContext("2d");
  canvasContext.fillStyle = "white";
  canvasContext.fillRect(0, 0, canvas.width, canvas.height);
  await page.render({ canvas: null, canvasContext, viewport, annotationMode: 0 }).promise;
  const { items } = await page.getTextContent();
  return { bitmap: canvas.transferToImageBitmap(), spans: items.flatMap((item) => spanOf(item, viewport)) };
}

/** Where a piece of text lies, in percent of the page. */
function spanOf({ str, transform, width, height }, viewport) {
  if (!str?.trim()) return [];
  const [x, y] = [transform[4], transform[5]];
  const [left, bottom] = viewport.convertToViewportPoint(x, y);
  const [right, top] = viewport.convertToViewportPoint(x + width, y + height);
  return [
    {
      text: str,
      left: (100 * Math.min(left, right)) / viewport.width,
      top: (100 * Math.min(top, bottom)) / viewport.height,
      width: (100 * Math.abs(right - left)) / viewport.width,
      height: (100 * Math.abs(bottom - top)) / viewport.height,
    },
  ];
}

/** pdf.js makes canvases of its own for patterns and masks. */
class OffscreenCanvases {
  create(width, height) {
    const canvas = new OffscreenCanvas(Math.max(1, width), Math.max(1, height));
    return { canvas, context: canvas.getContext("2d", { willReadFrequently: true }) };
  }
  reset(one, width, height) {
    one.canvas.width = width;
    one.canvas.height = height;
  }
  destroy(one) {
    one.canvas.width = 0;
    one.canvas.height = 0;
    one.canvas = null;
    one.context = null;
  }
}

/** Filters need a document: without them, a few effects are missing. */
class NoFilters {
  addFilter() {
    return "none";
  }
  addHCMFilter() {
    return "none";
  }
  addAlphaFilter() {
    return "none";
  }
  addLuminosityFilter() {
    return "none";
  }
  addKnockoutFilter() {
    return "none";
  }
  addHighlightHCMFilter() {
    return "none";
  }
  destroy() {}
}
