import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection, SitePage, Validators } from "../site-section.ts";

/** What an unchanged page costs a crawl that knows it, by what the page says of its version. */
const RESENDS: Readonly<Record<Validators, SitePage["resends"]>> = {
  both: "never",
  etag: "never",
  date: "never",
  stuck: "never",
  deaf: "always",
  none: "always",
  restless: "always",
};

const KINDS = Object.keys(RESENDS) as Validators[];

/** One page for every kind of validators, honest and lying. */
export const validators: MakeSection = () => ({
  name: "validators",
  entrances: KINDS.map((kind) => `/validators/${kind}`),
  pages: () => KINDS.map((kind) => listed(`/validators/${kind}`, `heifer${kind}`, { resends: RESENDS[kind] })),
  answer(asked) {
    const kind = KINDS.find((each) => asked.path === `/validators/${each}`);
    return kind && htmlDocument({ word: `heifer${kind}` }, asked, { validators: kind });
  },
});
