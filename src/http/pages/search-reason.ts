import { html } from "hono/html";
import type { QuerySource } from "../../engine/query.ts";
import type { Html } from "./layout.ts";

/** Why a passage was found, on demand: the parts of its score in words. Only our own index tells. */
export function scoreReason({ details, text, score }: QuerySource, wholeWay: string | undefined): Html | "" {
  if (!details) return "";
  const { parts } = details;
  const found = [...new Set(details.highlights.map(({ start, end }) => text.slice(start, end).toLowerCase()))];
  const words = found.length > 0 ? html`: <bdi>${found.slice(0, 8).join(", ")}</bdi>` : "";
  return html`<details class="reason"><summary>Why?</summary>
<dl>
${part("Words", parts.text, html`${strength(parts.text, "the words of the question are in it", "none of its words is in this passage")}${words}`)}
${part("Meaning", parts.vector, strength(parts.vector, "it is about the same", "its meaning did not count"))}
${part("Name and path", parts.label, strength(parts.label, "they say what was asked for", "they say nothing of it"))}
</dl>
<p>Together and weighed: ${score.toFixed(2)}. Seen in generation ${details.generation}${details.language ? html`, language <code>${details.language}</code>` : ""}.${wholeWay ? html` <a href="${wholeWay}">Its whole way, from the source on</a>` : ""}</p>
</details>`;
}

function part(name: string, value: number, words: Html | string): Html {
  const shown = Math.min(1, Math.max(0, value));
  return html`<div><dt>${name}</dt><dd><meter min="0" max="1" value="${shown.toFixed(2)}" aria-label="${name}"></meter> ${shown.toFixed(2)} <span>${words}</span></dd></div>`;
}

function strength(value: number, yes: string, no: string): string {
  if (value <= 0.005) return no;
  const level = value >= 0.66 ? "strongly" : value >= 0.33 ? "fairly" : "a little";
  return `${level}: ${yes}`;
}
