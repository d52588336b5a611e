import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { CertificateStatement } from "../../engine/verify/certificate.ts";
import type { CertificateStatus, StoredCertificate } from "../../engine/verify/stored-certificates.ts";
import {
  type Difference,
  type Layer,
  MISSING_DOCUMENT,
  MISSING_FILE,
  type SourceVerification,
  type Verdict,
} from "../../engine/verify/verification.ts";
import { parseDuration, sayDuration } from "../../lib/duration.ts";
import { plural } from "../../lib/text.ts";
import type { CertificateJson } from "../endpoints/certificate-codec.ts";
import type { ProvedDomain } from "../endpoints/describe-endpoints.ts";
import type { CertificatesJson, CertificatesQuery } from "../endpoints/verify-endpoints.ts";
import { shownName, shownTime } from "./display.ts";
import { jobConsole, watchedJob } from "./job-fragments.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import { addressWith } from "./paged-table.ts";

const PATH = "/v2/domains/certificates";

const VERDICT_TONES: Readonly<Record<Verdict, "good" | "busy" | "warn" | "bad">> = {
  agrees: "good",
  behind: "busy",
  "could not look": "warn",
  differs: "bad",
};

export function certificatesAddress(domainId: string): string {
  return `${PATH}?domain_id=${encodeURIComponent(domainId)}&format=html`;
}

function certificateAddress(domainId: string, id: string, format: "html" | "raw"): string {
  return `${PATH}/get?${new URLSearchParams({ domain_id: domainId, certificate: id, format })}`;
}

/** Renders what was proved of a domain: the last certificate as a picture, how old it is, and the form that starts the next one. */
export async function certificatesPage(
  app: App,
  data: CertificatesJson,
  { job_id }: CertificatesQuery,
  frame: Frame,
): Promise<Awaited<Html>> {
  const domain = await app.domains.get(data.domain_id as DomainId);
  const [status, watched] = await Promise.all([app.certificates.status(domain), watchedJob(app, job_id)]);
  const { latest, quick } = status;
  const shown = latest ?? quick;
  return await layout({
    frame,
    title: `Verification of ${data.domain_id} · lockstep`,
    modules: ["live-jobs.js"],
    body: html`<header class="page-head"><h1>Verification</h1>${latest ? downloadButton(data.domain_id, "latest") : ""}<p class="quiet">of ${domainLink(data.domain_id)}</p>
<p class="lede">Whether source, mirror and index say the same, looked at with fresh eyes, and signed.</p></header>
<section class="panel stack" id="proof" data-refresh aria-label="How it stands">${standing(data, status)}</section>
${mayChange(frame, "operate") ? verifyForm(data.domain_id) : ""}
${jobConsole(watched, frame)}
<div class="stack" id="certificate" data-refresh>${shown ? certificateParts(shown, data.domain_id) : ""}</div>
<section class="stack" id="earlier" data-refresh aria-labelledby="earlier-title" ${data.certificates.length === 0 ? "hidden" : ""}><h2 id="earlier-title">Certificates</h2>${certificateTable(data, frame)}</section>`,
  });
}

/** Renders one certificate, which may be an earlier one. */
export function certificatePage(stored: StoredCertificate, domainId: string, frame: Frame): Html {
  return layout({
    frame,
    title: `Certificate of ${domainId} · lockstep`,
    body: html`<header class="page-head"><h1>${stored.certificate.statement.quick ? "Quick verification" : "Certificate"}</h1>${downloadButton(domainId, stored.id)}<p class="quiet">of ${domainLink(domainId)}, ${shownTime(stored.certificate.statement.finished_utc)}</p></header>
<div class="stack">${certificateParts(stored, domainId)}</div>
<p><a href="${certificatesAddress(domainId)}">All certificates</a></p>`,
  });
}

/** Renders `/v2/describe?format=html`: what can be searched, and how far it is proved. */
export function describedPage(domains: readonly ProvedDomain[], frame: Frame): Html {
  return layout({
    frame,
    title: "What can be searched · lockstep",
    body: html`<header class="page-head"><h1>What can be searched</h1></header>
${domains.length === 0 ? html`<p class="empty">Nothing yet: there is no domain.</p>` : ""}
${domains.map(({ domain_id, name, description, late, certificate }) => {
  const search = `/v2/search?format=ui&domain_id=${encodeURIComponent(domain_id)}`;
  return html`<section class="panel stack" aria-label="${name || domain_id}"><h2><a href="${search}"><bdi>${name || domain_id}</bdi></a></h2>
${description ? html`<p><bdi>${description}</bdi></p>` : ""}
<p>${certificate ? html`Verified ${shownTime(certificate.finished_utc)}: <strong>${certificate.sound ? certificate.verdict : "altered since"}</strong>` : "Not verified in full yet."}${late ? html` <span class="pill warn">late</span>` : ""}</p></section>`;
})}`,
  });
}

function domainLink(domainId: string): Html {
  return html`<a href="/v2/domains/get?domain_id=${domainId}&amp;format=html"><code>${domainId}</code></a>`;
}

function downloadButton(domainId: string, id: string): Html {
  return html`<div class="actions"><a class="button" href="${certificateAddress(domainId, id, "raw")}" download>Download the certificate</a></div>`;
}

/** The verdict, its age as a picture, and what is wrong with it as a certificate. */
function standing(data: CertificatesJson, { latest, ageMs, isLate, problem }: CertificateStatus): Html {
  const verdict = latest?.certificate.statement.verdict;
  return html`<p class="verdict">${verdict ? pill(verdict) : html`<span class="pill idle">not verified in full yet</span>`}${isLate ? html` <span class="pill warn">late</span>` : ""}</p>
${problem ? html`<p class="notice bad" role="alert"><bdi>${problem}</bdi></p>` : ""}
${isLate ? html`<p class="notice warn">${sayLate(data.max_age, ageMs)}</p>` : ""}
${ageChart(data, ageMs)}
<dl class="figures">
<div><dt>Last certificate</dt><dd>${latest ? html`${shownTime(latest.certificate.statement.finished_utc)}` : "none"}</dd></div>
<div><dt>May be</dt><dd>${data.max_age ? html`${data.max_age} old` : "of any age"}</dd></div>
<div><dt>Quick verification</dt><dd>${data.quick ? html`<a href="${certificateAddress(data.domain_id, data.quick.certificate, "html")}">${data.quick.verdict}</a>, ${shownTime(data.quick.finished_utc)}` : "after the next crawl that changes something"}</dd></div>
</dl>`;
}

export function sayLate(maxAge: string, ageMs: number | undefined): string {
  return ageMs === undefined
    ? `It was never verified in full, and its certificate may be ${maxAge} old at most.`
    : `Its last certificate is ${sayDuration(ageMs)} old, and may be ${maxAge} old at most.`;
}

/** For the figures of a domain: what its last verifications found, and when. */
export function verifiedFigures(domainId: string, certificates: CertificateStatus | undefined): Html | "" {
  if (!certificates) return "";
  const figure = (title: string, stored: StoredCertificate | undefined): Html | "" =>
    stored
      ? html`<div><dt>${title}</dt><dd><a href="${certificatesAddress(domainId)}">${stored.isSound ? stored.certificate.statement.verdict : "altered"}</a>, ${shownTime(stored.certificate.statement.finished_utc)}</dd></div>`
      : "";
  return html`${figure("Verified", certificates.latest)}${figure("Verified quickly", certificates.quick)}`;
}

function pill(verdict: Verdict): Html {
  return html`<span class="pill ${VERDICT_TONES[verdict] ?? "warn"}">${verdict}</span>`;
}

const WIDTH = 300;
const HEIGHT = 26;
const RADIUS = 5;
const DAY_MS = 86_400_000;

/** Draws the verifications on a time axis that ends now. The range within `max_age` is highlighted. */
function ageChart({ certificates, max_age, domain_id }: CertificatesJson, ageMs: number | undefined): Html | "" {
  if (ageMs === undefined && max_age === "") return "";
  const now = Date.now();
  const allowedMs = parseDuration(max_age) ?? 0;
  const ages = certificates.map(({ finished_utc }) => now - Date.parse(finished_utc));
  // Old certificates are not drawn: a longer axis would press the latest together.
  const spanMs = Math.max(DAY_MS, allowedMs * 2, (ageMs ?? 0) * 1.25, Math.min(ages.at(-1) ?? 0, 30 * DAY_MS) * 1.1);
  const xOf = (age: number): number => Math.round(10 * (WIDTH - RADIUS - (age / spanMs) * (WIDTH - 2 * RADIUS))) / 10;
  const dots = certificates.flatMap(({ verdict, finished_utc }, at) => {
    const age = ages[at] ?? Number.NaN;
    if (!(age <= spanMs)) return [];
    const words = `${finished_utc.slice(0, 16).replace("T", " ")} UTC: ${verdict}`;
    return [
      html`<circle class="${VERDICT_TONES[verdict as Verdict] ?? "warn"}" cx="${xOf(age)}" cy="${HEIGHT / 2}" r="${RADIUS}"><title>${words}</title></circle>`,
    ];
  });
  const allowed =
    allowedMs > 0
      ? html`<rect class="allowed" x="${xOf(allowedMs)}" y="0" width="${WIDTH - xOf(allowedMs)}" height="${HEIGHT}"/>`
      : "";
  const sentence =
    ageMs === undefined
      ? "Never verified in full."
      : `Verified ${sayDuration(ageMs)} ago${allowedMs > 0 ? `; the lit part is as old as a certificate may be, ${max_age}` : ""}.`;
  return html`<figure class="chart age-chart"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${domain_id}: ${sentence}">
${allowed}<line x1="0" x2="${WIDTH}" y1="${HEIGHT / 2}" y2="${HEIGHT / 2}"/>${dots.reverse()}</svg>
<p class="chart-ends" aria-hidden="true"><span>${sayDuration(spanMs)} ago</span><span>now</span></p>
<figcaption>${sentence}</figcaption></figure>`;
}

function verifyForm(domainId: string): Html {
  const check = (name: string, words: string): Html =>
    html`<label class="check"><input type="checkbox" name="${name}" value="true"> <span>${words}</span></label>`;
  return html`<form class="panel stack" action="/v2/crawler/verify" method="get" data-crawl aria-labelledby="verify-title">
<h2 id="verify-title">Verify now</h2>
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="format" value="html">
<div class="checks">${check("download", "Read the bytes of every file at its source, too")}${check("repair", "Repair what differs, with a crawl that reads every file, and verify again")}</div>
<div class="form-end"><button class="primary">Verify</button><p class="form-error" role="alert" hidden></p></div>
</form>`;
}

function certificateParts(stored: StoredCertificate, domainId: string): Html {
  const { certificate, isSound, hash, id } = stored;
  const { statement, signature } = certificate;
  // An altered certificate may contain anything, in any form, so nothing of it is shown.
  if (!isSound) {
    return html`<p class="notice bad" role="alert">This certificate was altered after it was signed: it proves nothing, and is not shown. <a href="${certificateAddress(domainId, id, "raw")}">Download it</a></p>`;
  }
  return html`<section class="stack" aria-labelledby="picture-title"><div class="section-head"><h2 id="picture-title">${statement.quick ? "What the quick verification found" : "What the last verification found"}</h2>${pill(statement.verdict)}</div>
${statement.problems.map((problem) => html`<p class="notice warn"><bdi>${problem}</bdi></p>`)}
${statement.sources.map((source) => sourcePanel(source))}</section>
<section class="panel stack" aria-labelledby="facts-title"><h2 id="facts-title">About this certificate</h2>${facts(statement, hash, signature.fingerprint)}</section>`;
}

/** How many items of a layer are as they should be, and how many are not. */
interface Bar {
  readonly name: string;
  readonly words: string;
  readonly parts: readonly { readonly tone: "good" | "busy" | "bad" | "idle"; readonly count: number }[];
}

function sourcePanel(source: SourceVerification): Html {
  const { source_id, verdict, problems, differences, differences_more, behind, behind_more } = source;
  return html`<section class="panel stack" aria-label="Source ${source_id}">
<div class="section-head"><h3><bdi>${source_id}</bdi></h3>${pill(verdict)}</div>
${problems.map((problem) => html`<p class="notice warn"><bdi>${shownName(problem)}</bdi></p>`)}
${layerChart(source)}
${differences.length > 0 ? differenceTable(source_id, differences, differences_more) : ""}
${behind.length > 0 ? behindList(behind, behind_more) : ""}
<details><summary>What each part is based on</summary><dl class="figures basis">${Object.entries(source.based_on).map(([part, words]) => html`<div><dt>${part}</dt><dd>${words}</dd></div>`)}</dl></details>
</section>`;
}

/** Draws all layers on one scale, so that an index with fewer documents than the source has items is obvious. */
function layerChart(source: SourceVerification): Html {
  const bars = barsOf(source);
  const most = Math.max(1, ...bars.map(({ parts }) => parts.reduce((sum, { count }) => sum + count, 0)));
  const sentence = bars.map(({ name, words }) => `${name}: ${words}`).join("; ");
  return html`<figure class="chart layers" role="img" aria-label="${source.source_id}. ${sentence}">${bars.map(
    ({ name, words, parts }) => {
      let x = 0;
      const rects = parts.map(({ tone, count }) => {
        const width = (count / most) * 100;
        const rect =
          width > 0
            ? html`<rect class="${tone}" x="${x.toFixed(2)}" y="0" width="${Math.max(width, 0.6).toFixed(2)}" height="10"/>`
            : "";
        x += width;
        return rect;
      });
      return html`<p class="layer"><span class="layer-name">${name}</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" x="0" y="0" width="100" height="10"/>${rects}</svg><span class="layer-count">${words}</span></p>`;
    },
  )}</figure>`;
}

function barsOf({ counts, differences, behind, behind_more }: SourceVerification): Bar[] {
  const { listed, unwanted, files, documents, empty, unreadable, searched } = counts;
  const wanted = listed - unwanted;
  const news = behind.length + behind_more;
  const mirror = judgeLayer(differences, "mirror", MISSING_FILE, files);
  const index = judgeLayer(differences, "index", MISSING_DOCUMENT, documents);
  const missed = Math.min(searched, differences.filter(({ layer }) => layer === "search").length);
  const textless = empty + unreadable;
  return [
    {
      name: "Source",
      words: listWords([plural(wanted, "item"), [news, "moved on"]]),
      parts: [
        { tone: "good", count: Math.max(0, wanted - news) },
        { tone: "busy", count: Math.min(wanted, news) },
      ],
    },
    {
      name: "Mirror",
      words: listWords([plural(files, "file"), [mirror.wrong, "wrong"], [mirror.missing, "missing"]]),
      parts: mirror.parts,
    },
    {
      name: "Index",
      words: listWords([
        plural(documents, "document"),
        [index.wrong, "wrong"],
        [index.missing, "missing"],
        [textless, "without text"],
      ]),
      parts: [...index.parts, { tone: "idle", count: textless }],
    },
    {
      name: "Search",
      words:
        searched === 0 ? "not asked" : listWords([`${plural(searched, "document")} asked for`, [missed, "not found"]]),
      parts: [
        { tone: "good", count: searched - missed },
        { tone: "bad", count: missed },
      ],
    },
  ];
}

/** Counts the differences of one layer. `count`: items that are there; missing ones come on top. */
function judgeLayer(differences: readonly Difference[], layer: Layer, missingWords: string, count: number) {
  const own = differences.filter((one) => one.layer === layer);
  const missing = own.filter(({ detail }) => detail.startsWith(missingWords)).length;
  const others = own.filter(({ detail }) => !detail.startsWith(missingWords));
  const wrong = Math.min(count, new Set(others.map(({ item_id, path }) => item_id || path)).size);
  const parts: Bar["parts"] = [
    { tone: "good", count: count - wrong },
    { tone: "bad", count: wrong + missing },
  ];
  return { missing, wrong, parts };
}

/** Returns "61 files, 1 wrong": further counts only where there are any. */
function listWords([first, ...more]: readonly [string, ...(readonly [number, string])[]]): string {
  return [first, ...more.flatMap(([count, words]) => (count > 0 ? [`${count} ${words}`] : []))].join(", ");
}

/** Further differences are in the certificate only. */
const SHOWN = 100;

function differenceTable(sourceId: string, differences: readonly Difference[], more: number): Html {
  const rest = differences.length - Math.min(SHOWN, differences.length) + more;
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Differences of ${sourceId}"><table class="rows">
<caption class="visually-hidden">Differences of ${sourceId}</caption>
<thead><tr><th scope="col">Item</th><th scope="col">Where</th><th scope="col">What differs</th><th scope="col">What a crawl does</th></tr></thead>
<tbody>${differences
    .slice(0, SHOWN)
    .map(
      ({ path, item_id, layer, part, detail, crawl }) =>
        html`<tr><th scope="row"><bdi>${shownName(path || item_id)}</bdi></th><td data-label="Where"><div>${part ? `${layer}, ${part}` : layer}</div></td><td data-label="What differs"><div><bdi>${shownName(detail)}</bdi></div></td><td data-label="What a crawl does"><div><bdi>${shownName(crawl)}</bdi></div></td></tr>`,
    )}</tbody></table></div>
${rest > 0 ? html`<p class="quiet">and ${plural(rest, "more difference")}: ${more > 0 ? "the log of its job lists all" : "the certificate lists them"}.</p>` : ""}`;
}

function behindList(behind: SourceVerification["behind"], more: number): Html {
  const rest = behind.length - Math.min(SHOWN, behind.length) + more;
  return html`<details><summary>${plural(behind.length + more, "item")} moved on at the source since the last crawl</summary><ul class="plain">${behind
    .slice(0, SHOWN)
    .map(
      ({ path, item_id, detail }) =>
        html`<li><bdi>${shownName(path || item_id)}</bdi> <span class="quiet"><bdi>${shownName(detail)}</bdi></span></li>`,
    )}</ul>${rest > 0 ? html`<p class="quiet">and ${rest} more.</p>` : ""}</details>`;
}

function facts(statement: CertificateStatement, hash: string, fingerprint: string): Html {
  const { started_utc, finished_utc, versions, previous, download, quick } = statement;
  const depth = quick
    ? "quick: the last crawl's listing, presence, samples"
    : download
      ? "listing and bytes of the sources"
      : "listing of the sources, bytes of the mirror";
  const rows: readonly (readonly [string, Html | string])[] = [
    ["Began", shownTime(started_utc)],
    ["Ended", shownTime(finished_utc)],
    ["Looked at", depth],
    ["Generation", sayGeneration(statement)],
    ["Made by", `lockstep ${versions.lockstep}, Node ${versions.node}`],
    ["Signed by", html`<code>${fingerprint}</code>`],
    ["Its hash", html`<code>${hash}</code>`],
    ["Certificate before", previous ? html`<code>${previous}</code>` : "none"],
  ];
  return html`<dl class="figures certificate-facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
<p class="quiet">Anybody can check it, without this server: <code>lockstep verify --check FILE --key ${fingerprint}</code></p>`;
}

/** While a domain is rolled back, readers see an earlier generation than the verified one. */
function sayGeneration({ generation, shown_generation = generation }: CertificateStatement): string {
  return shown_generation === generation ? String(generation) : `${generation}; readers were shown ${shown_generation}`;
}

function certificateTable(data: CertificatesJson, frame: Frame): Html {
  const { certificates, domain_id, total } = data;
  const offset = Number(frame.url.searchParams.get("offset") ?? 0);
  const end = offset + certificates.length;
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Certificates"><table class="rows">
<thead><tr><th scope="col">Verified</th><th scope="col">Found</th><th scope="col" class="end">Differences</th><th scope="col" class="end">Behind</th><th scope="col" class="end">Generation</th><th scope="col">Actions</th></tr></thead>
<tbody>${certificates.map((one) => certificateRow(one, domain_id))}</tbody></table></div>
${total > certificates.length ? html`<nav class="pager" aria-label="Pages of certificates"><span>${offset + 1}–${end} of ${total}</span><span class="pager-links">${offset > 0 ? html`<a class="button small" href="${addressWith(frame, { offset: String(Math.max(0, offset - certificates.length)) })}" rel="prev">Newer</a>` : ""}${end < total ? html`<a class="button small" href="${addressWith(frame, { offset: String(end) })}" rel="next">Earlier</a>` : ""}</span></nav>` : ""}`;
}

function certificateRow(
  { certificate, finished_utc, verdict, differences, behind, generation, sound }: CertificateJson,
  domainId: string,
): Html {
  const shown = sound ? pill(verdict as Verdict) : html`<span class="pill bad">altered</span>`;
  return html`<tr><th scope="row"><a href="${certificateAddress(domainId, certificate, "html")}">${shownTime(finished_utc)}</a></th><td data-label="Found"><div>${shown}</div></td><td class="end" data-label="Differences"><div>${differences}</div></td><td class="end" data-label="Behind"><div>${behind}</div></td><td class="end" data-label="Generation"><div>${generation}</div></td><td data-label="Actions"><div class="row-actions"><a class="button small" href="${certificateAddress(domainId, certificate, "raw")}" download>Download<span class="visually-hidden"> the certificate of ${finished_utc}</span></a></div></td></tr>`;
}
