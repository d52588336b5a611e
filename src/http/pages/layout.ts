import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

export interface Layout {
  readonly title: string;
  readonly body: Html;
  /** Right of the name: version, backend. */
  readonly aside?: Html;
}

/** The frame of every page. Text goes in through the template, which escapes it. */
export function layout({ title, body, aside }: Layout): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/assets/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/lockstep.css">
<script type="module" src="/assets/lockstep.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="masthead">
<a class="wordmark" href="/"><img src="/assets/favicon.svg" alt="" width="28" height="28">lockstep</a>
${aside ?? ""}
</header>
<main id="main" tabindex="-1">
${body}
</main>
</body>
</html>`;
}
