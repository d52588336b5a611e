import { addFile } from "../tenant/file-operations.ts";
import { addPagesLibrary } from "../tenant/page-operations.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { companyDocuments } from "./company-documents.ts";
import { seedPages } from "./company-pages.ts";
import { seedSuppliers } from "./company-suppliers.ts";
import { renderDocument } from "./render-document.ts";

/** "company": the documents of a maker of cargo bikes. "empty": the same sites and libraries, nothing in them. */
export type SeedName = "company" | "empty";

const FOUNDED_AT = "2023-02-06T09:00:00Z";

export function seedTenant(tenant: Tenant, seed: SeedName): void {
  tenant.addSite("", "Tidewheel", FOUNDED_AT);
  tenant.addSite("/sites/demo", "Demo", FOUNDED_AT);
  tenant.addSite("/sites/hr", "People", FOUNDED_AT);
  tenant.addLibrary("/sites/demo/Shared Documents", { title: "Documents", at: FOUNDED_AT });
  tenant.addLibrary("/sites/demo/Contracts", { title: "Contracts", at: FOUNDED_AT });
  tenant.addLibrary("/sites/hr/Shared Documents", { title: "Documents", at: FOUNDED_AT });
  for (const site of ["/sites/demo", "/sites/hr"]) addPagesLibrary(tenant, site, { at: FOUNDED_AT });
  if (seed === "empty") return;
  for (const document of companyDocuments) {
    addFile(tenant, document.path, renderDocument(document), { at: document.modifiedAt });
  }
  seedSuppliers(tenant, FOUNDED_AT);
  seedPages(tenant);
}
