/**
 * Documents decide nothing about what a chat client loads: an image in an answer would carry whatever its address says to whoever
 * serves it, without a click. Images become links, and tags that may load something become text; links stay, for somebody has to
 * follow them.
 */
const IMAGE = /!(?=\[)/g;
/** Any attribute may load something (`style` does), and these do with their content. Nobody needs longer names. */
const TAG = /<(?=[a-z][^\s<>/]*[\s/]+[^\s/>]|(?:script|style|svg|iframe)\b|[a-z][^\s<>/]{30})/gi;
/** The beginning of either, which the next piece may complete. */
const UNDECIDED = /!$|<(?:[a-z][^\s<>/]{0,30}[\s/]*)?$/i;

/** Returns the text so that a client that renders Markdown and HTML loads nothing. */
export function inertMarkdown(text: string): string {
  return text.replaceAll(IMAGE, "! ").replaceAll(TAG, "< ");
}

/** The same for text that comes in pieces. */
export interface InertStream {
  /** Holds back what the next piece may turn into an image. */
  read(piece: string): string;
  /** Returns what was held back. */
  end(): string;
}

export function createInertStream(): InertStream {
  let held = "";
  return {
    read(piece) {
      const text = held + piece;
      const at = UNDECIDED.exec(text)?.index ?? text.length;
      held = text.slice(at);
      return inertMarkdown(text.slice(0, at));
    },
    end() {
      const rest = held;
      held = "";
      return inertMarkdown(rest);
    },
  };
}
