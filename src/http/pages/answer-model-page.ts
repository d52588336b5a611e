import { html } from "hono/html";
import type { FoundModel } from "../../app/answer-model.ts";
import type { AnswerModelJson } from "../endpoints/answer-endpoints.ts";
import { shownName } from "./display.ts";
import { type Frame, type Html, layout } from "./layout.ts";

/** Who writes answers: one click for what runs on this machine. Works without scripts. */
export function answerModelPage(models: AnswerModelJson, frame: Frame): Html {
  const writer = models.find(({ writes }) => writes);
  const from = writer?.server;
  return layout({
    frame,
    title: "Answers · lockstep",
    body: html`<header class="page-head"><h1>Answers</h1>
<p class="lede">Chat clients ask the models <code>lockstep/…</code>, which search before they answer.</p></header>
<section class="panel stack" aria-labelledby="writer-title"><h2 id="writer-title">Who writes them</h2>
${
  writer === undefined
    ? html`<p>Nobody: answers are quoted from the documents, word by word.</p>`
    : html`<p><bdi><strong>${shownName(writer.model)}</strong></bdi>${writer.base_url ? html` at <code>${writer.base_url}</code>` : ""}${from === "settings" ? ", as the settings say" : ""}. It is sent the passages that were found.</p>`
}
${from === "page" ? html`<form action="/v2/answers/choose?format=html" method="post"><button>Quote instead</button></form>` : ""}
${from === "settings" ? "" : foundModels(models.filter(({ writes }) => !writes))}
</section>
<section class="panel stack" aria-labelledby="clients-title"><h2 id="clients-title">For chat clients</h2>
<dl class="facts"><div><dt>Base address</dt><dd><code>${frame.url.origin}/openai/v1</code></dd></div><div><dt>Model</dt><dd><code>lockstep/all</code>, or <code>lockstep/</code> and a domain</dd></div><div><dt>Key</dt><dd>one of this server, if it has any</dd></div></dl>
</section>`,
  });
}

/** Shows a button for each. */
export function foundModels(found: readonly FoundModel[]): Html {
  if (found.length === 0) {
    return html`<p class="quiet">Ollama and LM Studio are found here when they run on this machine, at their default ports.</p>`;
  }
  return html`<p>Found on this machine:</p>
<div class="row-actions">${found.map(
    ({ server, model }) =>
      html`<form class="inline" action="/v2/answers/choose?${new URLSearchParams({ server, model, format: "html" })}" method="post"><button><span>Let <bdi>${shownName(model)}</bdi> write (${server})</span></button></form>`,
  )}</div>`;
}
