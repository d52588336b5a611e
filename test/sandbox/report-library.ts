import { addFile, addFolder } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
import type { Sandbox } from "../../src/sandbox/start-sandbox.ts";
import { apiOf, rowsOf } from "./sandbox-client.ts";

/** A library with a folder and four files, whose columns differ. */
export async function reportLibrary(sandbox: Sandbox) {
  const api = await apiOf(sandbox);
  const { tenant } = sandbox;
  const root = "/sites/demo/Shared Documents";
  const library = tenant.libraryAt(root);
  const items = `/sites/demo/_api/web/lists(guid'${library.id}')/items`;
  addFolder(tenant, `${root}/Reports`, { at: "2024-01-01T00:00:00Z" });
  addFile(tenant, `${root}/Reports/Q1.docx`, "one", {
    at: "2024-03-29T17:57:44Z",
    columns: { Department: "Finance", Pages: 12 },
  });
  addFile(tenant, `${root}/Reports/Q2.docx`, "two", {
    at: "2024-06-28T09:00:00Z",
    columns: { Department: "finance", Pages: 7, Final: true },
  });
  addFile(tenant, `${root}/O'Brien & Co.txt`, "three", {
    at: "2025-01-15T10:30:00Z",
    columns: { Department: "Sales", Due: "2025-02-01T00:00:00Z" },
  });
  addFile(tenant, `${root}/notes.md`, "four", { at: "2025-01-15T10:30:01Z" });
  const namesOf = async (query: string): Promise<unknown[]> =>
    (await rowsOf(await api(`${items}?${query}`))).map((row) => row["FileLeafRef"]);
  return { api, tenant, root, library, items, namesOf };
}
