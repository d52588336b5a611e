import { html } from "hono/html";
import { createForm } from "./create-form.ts";
import { domainCard } from "./domain-card.ts";
import type { HomeModel } from "./home-model.ts";
import { jobConsole } from "./job-console.ts";
import { type Html, layout } from "./layout.ts";
import { recentJobs } from "./recent-jobs.ts";
import { searchPanel } from "./search-panel.ts";

export interface Product {
  readonly version: string;
  readonly backend: string;
  readonly origin: string;
}

/** The overview at `/`. Every form works without its module; the module makes the console live. */
export function homePage(model: HomeModel, product: Product): Html {
  return layout({
    title: "lockstep",
    aside: html`<p class="masthead-facts"><span>${product.backend} backend</span><span>${product.version}</span><a href="/v2">HTTP interface</a></p>`,
    body:
      model.domains.length === 0 && model.broken.length === 0 ? firstSteps(model, product) : overview(model, product),
  });
}

function overview(model: HomeModel, product: Product): Html {
  return html`${searchPanel(model)}
<section aria-labelledby="domains-title">
<h2 id="domains-title">Domains</h2>
${model.broken.map(
  ({ domainId, reason }) =>
    html`<p class="notice bad" role="alert"><strong>${domainId}</strong> cannot be read: ${reason}</p>`,
)}
<div class="cards">${model.domains.map(domainCard)}</div>
<details class="panel create"><summary>New domain</summary>${createForm(product)}</details>
</section>
${jobConsole(model.watched)}
${recentJobs(model.jobs)}
${visibilityNote()}`;
}

function firstSteps(model: HomeModel, product: Product): Html {
  return html`<section class="panel welcome">
<h1>Keep a knowledge base in step with its sources</h1>
<p class="lede">A domain is one knowledge base: a vector store, and the SharePoint libraries it is filled from. Create one, crawl it, search it. From then on a crawl brings in what changed and takes out what is gone.</p>
${createForm(product)}
</section>
${jobConsole(model.watched)}
${model.jobs.length > 0 ? recentJobs(model.jobs) : ""}
${visibilityNote()}`;
}

function visibilityNote(): Html {
  return html`<footer class="foot"><p>Everyone who may query sees everything that was crawled. Permissions of the sources are not carried along.</p></footer>`;
}
