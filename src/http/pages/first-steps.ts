import { html } from "hono/html";
import { domainEditor, EXAMPLE_SOURCES } from "./domain-editor.ts";
import type { HomeModel } from "./home-model.ts";
import type { Frame, Html } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { recentJobs } from "./recent-jobs.ts";
import { runningJobs } from "./running-jobs.ts";

const STEPS = html`<ol class="steps"><li><strong>Create a domain</strong> and name its first library below.</li><li><strong>Crawl it</strong>; a dry run shows beforehand what would happen.</li><li><strong>Search it</strong>, here or from any program that speaks OpenAI's protocol.</li></ol>`;

/** Instead of an overview of nothing. */
export function firstSteps(model: HomeModel, frame: Frame): Html {
  return html`<section class="panel welcome">
<h1>Keep a knowledge base in step with its sources</h1>
<p class="lede">A domain is one knowledge base: a vector store, and the SharePoint libraries, lists and pages, the web sites and the folders it is filled from. A crawl fills it; every further one brings in what changed and takes out what is gone.</p>
${mayChange(frame, "admin") ? html`${STEPS}${domainEditor(frame.product.kinds)}${fromTerminal(frame)}` : html`<p class="notice">Only administrators can create domains.</p>`}
</section>
${model.running.shown.length > 0 ? runningJobs(model.running, frame) : ""}
${model.jobs.length > 0 ? recentJobs(model.jobs, frame.product.kinds) : ""}`;
}

function fromTerminal({ url: { origin } }: Frame): Html {
  const domain = { domain_id: "HANDBOOK", name: "Employee handbook", description: "Travel, expenses, leave" };
  const body = JSON.stringify({ ...domain, ...EXAMPLE_SOURCES }, null, 2);
  const create = `curl '${origin}/v2/domains/create' -H 'content-type: application/json' -d '${body}'`;
  const crawl = `curl -N '${origin}/v2/crawler/crawl?domain_id=HANDBOOK&mode=incremental&format=stream'`;
  return html`<details class="curl"><summary>The same from a terminal</summary>
<pre tabindex="0"><code>${create}\n\n${crawl}</code></pre></details>`;
}
