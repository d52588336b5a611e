import { listed } from "../render-page.ts";
import type { MakeSection } from "../site-section.ts";

/** A page with nothing but a title until its scripts have run. Its validators say nothing of what they show. */
export const scripted: MakeSection = () => ({
  name: "app",
  entrances: ["/app/start"],
  pages: () => [listed("/app/start", "")],
  answer({ path }) {
    if (path === "/app/app.js") {
      const body = (): string =>
        'document.getElementById("root").innerHTML = "<h1>Configurator</h1><p>The part number is " + ["ibex", "script"].join("") + ".</p>";';
      return { kind: "document", contentType: "text/javascript", validators: "both", body };
    }
    if (path !== "/app/start") return undefined;
    const body = (): string =>
      '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Configurator</title><script defer src="/app/app.js"></script></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div></body></html>';
    return { kind: "document", contentType: "text/html; charset=utf-8", validators: "both", body };
  },
});
