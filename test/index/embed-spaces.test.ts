// Vector spaces of a SQLite store are filled, switched and dropped without a gap for readers.
import { spacesSuite } from "./embed-spaces-suite.ts";

spacesSuite("SQLite");
