/**
 * Documents decide nothing about what a chat client loads: an image in an answer would carry whatever its address says to whoever
 * serves it, without a click. Images become links, and tags that may load something, or swallow what follows, become text; links
 * stay, for somebody has to follow them. But the numbers behind our sentences are ours: no document says where they lead.
 */
const IMAGE = /!(?=\[)/g;
/** Any attribute may load something (`style` does); these do with their content, or hide it. Nobody needs longer names. */
const TAG =
  /<(?=!--|[a-z][^\s<>/]*[\s/]+[^\s/>]|(?:script|style|svg|math|iframe|textarea|title|xmp|plaintext|no(?:embed|frames|script)|template|select)\b|[a-z][^\s<>/]{30})/gi;
/** `[1]: https://…` would make a link to there of every `[1]` in the text, and `[ 1 ]: https://…` as well. */
const DEFINITION = /(?<=\[\s*\d{1,3}\s*\])(?=:)/g;
/** The beginning of any of them, which the next piece may complete. */
const UNDECIDED = /!$|!?\[\s*(?:\d{1,3}\s*)?\]?$|<(?:!-?|[a-z][^\s<>/]{0,30}[\s/]*)?$/i;

/** Returns the text so that a client that renders Markdown and HTML loads nothing. */
export function inertMarkdown(text: string): string {
  return text.replaceAll(IMAGE, "! ").replaceAll(TAG, "< ").replaceAll(DEFINITION, " ");
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
