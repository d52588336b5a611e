// A checkout whose packages are a link, as beside other checkouts, reads files as any other does.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../package/copy-checkout.ts";
import { makeDocx, paragraph } from "./make-docx.ts";
import { makePdf } from "./make-pdf.ts";

test("packages behind a link are read by readers", async (t) => {
  const checkout = await mkdtemp(join(tmpdir(), "lockstep-linked-"));
  t.after(() => rm(checkout, { recursive: true }));
  for (const name of ["package.json", "src/extract", "src/lib", "src/contracts", "src/plan"]) {
    await cp(join(ROOT, name), join(checkout, name), { recursive: true });
  }
  await symlink(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  await writeFile(join(checkout, "a.pdf"), makePdf({ pages: [[{ text: "Okapi rules", y: 700 }]] }));
  await writeFile(join(checkout, "a.docx"), makeDocx({ body: paragraph("Okapi rules") }));
  const program = `import { createExtractor } from "./src/extract/extractor.ts";
    for (const type of ["pdf", "docx"]) {
      const document = await createExtractor().extract("a." + type, type, new AbortController().signal);
      console.log(type, JSON.stringify(document).includes("Okapi rules"));
    }`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    cwd: checkout,
  });
  assert.equal(stdout, "pdf true\ndocx true\n");
});
