import { indexSuite } from "../contracts/index-suite.ts";
import { embeddedFixture } from "./embedded-fixture.ts";

indexSuite("the embedded index", embeddedFixture);
