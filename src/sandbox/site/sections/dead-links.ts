import { escapeXml } from "../../sharepoint/odata/response.ts";
import { htmlDocument, numbered } from "../render-page.ts";
import type { MakeSection } from "../site-section.ts";

/**
 * Links to what is not there. Below `/dead/` it is answered 404 or 410; anywhere else the site answers 200, with a page that
 * says there is nothing.
 */
export const deadLinks: MakeSection = () => ({
  name: "dead",
  alsoAt: ["*"],
  entrances: ["/dead/never-was", "/dead/withdrawn", ...numbered(3, (i) => `/no-such-page-${i}`)],
  pages: () => [],
  answer(asked) {
    if (asked.path === "/dead/withdrawn") return { kind: "trouble", trouble: { how: "status", status: 410 } };
    if (asked.path.startsWith("/dead/")) return undefined;
    const extra = `<p>There is nothing at ${escapeXml(asked.path)}.</p>`;
    return htmlDocument({ title: "Page not found", word: "notfoundpage", extra }, asked, { validators: "none" });
  },
});
