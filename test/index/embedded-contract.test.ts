import { indexSuite } from "../contracts/index-suite.ts";
import { embeddedFixture, openIndex } from "./embedded-fixture.ts";

indexSuite("the embedded index", async () => {
  const { backend, store, close } = await embeddedFixture();
  return { openIndex: (domain) => openIndex(backend, store, domain), close };
});
