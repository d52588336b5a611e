import { html } from "hono/html";
import type { DifferenceJson } from "../endpoints/document-codec.ts";
import { documentAddress, fileNameOf } from "./document-words.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { shownName } from "./shown-name.ts";

/** What changed in a document from one version to another. */
export function documentDifferencePage(difference: DifferenceJson, domainId: string, frame: Frame): Html {
  const { path, from, to, hunks, complete } = difference;
  return layout({
    frame,
    title: `${fileNameOf(path)}, ${from} to ${to} · lockstep`,
    body: html`<header class="page-head"><h1><bdi>${fileNameOf(path)}</bdi></h1>
<div class="actions"><a class="button small" href="${documentAddress("get", difference, domainId)}">All versions</a></div>
<p class="quiet">From version <code>${from}</code> to <code>${to}</code></p></header>
${hunks.length === 0 && complete ? html`<p class="notice">The texts are the same.</p>` : ""}
${complete ? "" : html`<p class="notice warn">Only the beginning is shown. The texts of both versions can be read whole.</p>`}
${hunks.map(hunkPanel)}`,
  });
}

type ShownHunk = DifferenceJson["hunks"][number];

function hunkPanel({ from_line, lines }: ShownHunk): Html {
  return html`<div class="panel scroll-x" tabindex="0" role="region" aria-label="From line ${from_line}"><p class="quiet">From line ${from_line}</p><pre class="difference">${lines.map(
    ({ kind, text }) =>
      kind === "same"
        ? html`<span>  ${shownName(text)}</span>\n`
        : kind === "added"
          ? html`<ins>+ ${shownName(text)}</ins>\n`
          : html`<del>- ${shownName(text)}</del>\n`,
  )}</pre></div>`;
}
