import { html } from "hono/html";
import type { VersionJson } from "../endpoints/document-codec.ts";
import { documentAddress, fileNameOf } from "./document-words.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { shownName } from "./shown-name.ts";
import { shownTime } from "./shown-time.ts";

/** What a document said, as text: nothing in it is taken for markup. */
export function documentVersionPage(version: VersionJson, domainId: string, frame: Frame): Html {
  const { version_id, path, title, date, text, complete } = version;
  const raw = documentAddress("version", version, domainId, { version_id }).replace("format=html", "format=raw");
  return layout({
    frame,
    title: `${fileNameOf(path)}, ${version_id} · lockstep`,
    body: html`<header class="page-head"><h1><bdi>${shownName(title) || fileNameOf(path)}</bdi></h1>
<div class="actions"><a class="button small" href="${documentAddress("get", version, domainId)}">All versions</a><a class="button small" href="${raw}">Download the text</a></div>
<p class="quiet">Version <code>${version_id}</code> of <bdi>${shownName(path)}</bdi>, kept ${shownTime(date)}</p></header>
${complete ? "" : html`<p class="notice warn">Only the beginning is shown; the download has all of it.</p>`}
<div class="panel scroll-x" tabindex="0" role="region" aria-label="Text"><pre>${shownName(text)}</pre></div>`,
  });
}
