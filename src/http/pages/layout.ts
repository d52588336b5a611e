import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { Principal } from "../../contracts/access.ts";
import type { ProductFacts } from "../product.ts";
import { navigation } from "./navigation.ts";

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** What every page shows around its content. */
export interface Frame {
  readonly product: ProductFacts;
  /** undefined: nobody has signed in. */
  readonly principal: Principal | undefined;
  /** The address of the page itself. */
  readonly url: URL;
}

export interface Layout {
  readonly title: string;
  readonly body: Html;
  readonly frame: Frame;
  /** Scripts of this page below `/assets/`, beside the one that all pages have. */
  readonly modules?: readonly string[];
}

/**
 * The frame of every page. Text goes in through the template, which escapes it. Whoever has not signed in sees the
 * content alone: nothing in the navigation would open for them.
 */
export function layout({ title, body, frame, modules = [] }: Layout): Html {
  const { principal } = frame;
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
${modules.map((name) => html`<script type="module" src="/assets/${name}"></script>`)}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<div class="frame ${principal ? "" : "bare"}">
${principal ? navigation(frame, principal) : ""}
<main id="main" tabindex="-1">
${body}
</main>
</div>
<p class="visually-hidden" role="status" id="announcer"></p>
</body>
</html>`;
}
