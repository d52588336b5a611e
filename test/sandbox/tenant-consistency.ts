import assert from "node:assert/strict";
import { describeItem } from "../../src/sandbox/sharepoint/tenant/describe-library.ts";
import type { Tenant } from "../../src/sandbox/sharepoint/tenant/tenant.ts";

/** Rows, folder tree and id index must tell the same story after every operation. */
export function assertConsistent(tenant: Tenant): void {
  const seen = new Set<string>();
  for (const library of tenant.sites.flatMap((site) => site.libraries)) {
    let last = 0;
    for (const row of library.rows) {
      assert.ok(row.listItemId > last, "ascending ids");
      last = row.listItemId;
      assert.equal(row.library, library);
      assert.equal(tenant.itemAt(describeItem(row).path), row, "found where it says it is");
      assert.equal(tenant.itemsByUniqueId.get(row.uniqueId), row);
      seen.add(row.uniqueId);
    }
  }
  assert.equal(tenant.itemsByUniqueId.size, seen.size, "no ghosts in the index");
}
