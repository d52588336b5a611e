import { spacesSuite } from "./embed-spaces-suite.ts";

spacesSuite("SQLite");
