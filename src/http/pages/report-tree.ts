import { html } from "hono/html";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { sayBytes } from "../../lib/say-bytes.ts";
import type { Html } from "./layout.ts";
import { fileAddress } from "./report-words.ts";
import { shownName } from "./shown-name.ts";
import { textOf } from "./text-of.ts";

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly files: { readonly name: string; readonly path: string; readonly bytes: number }[];
}

/** The files of a report by their folders: kind of source, source, maps. */
export function reportTree(report: Readonly<JsonObject>, selected?: string): Html {
  const root: Folder = { folders: new Map(), files: [] };
  const files = Array.isArray(report["files"]) ? report["files"].filter(isJsonObject) : [];
  for (const file of files) add(root, textOf(file["file_path"]), Number(file["file_size"]) || 0);
  return html`<nav class="report-tree" aria-label="Files of the report">${folderList(root, report["report_id"], selected)}</nav>`;
}

function add(root: Folder, path: string, bytes: number): void {
  const names = path.split("/");
  const name = names.pop() ?? path;
  let folder = root;
  for (const one of names) {
    const next = folder.folders.get(one) ?? { folders: new Map(), files: [] };
    folder.folders.set(one, next);
    folder = next;
  }
  folder.files.push({ name, path, bytes });
}

function folderList({ folders, files }: Folder, reportId: unknown, selected: string | undefined): Html {
  return html`<ul>${files.map(
    ({ name, path, bytes }) =>
      html`<li><a href="${fileAddress(reportId, path)}&amp;format=html" ${path === selected ? html`aria-current="page"` : ""}><bdi>${shownName(name)}</bdi></a> <span class="quiet">${sayBytes(bytes)}</span></li>`,
  )}${[...folders].map(
    ([name, folder]) =>
      html`<li><span class="folder"><bdi>${shownName(name)}</bdi></span>${folderList(folder, reportId, selected)}</li>`,
  )}</ul>`;
}
