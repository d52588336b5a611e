// A marker in a document is found in every place where something of it is kept, and after erasing in none.
import { eraseSuite } from "./erase-suite.ts";

eraseSuite("with SQLite", async () => ({ settings: {}, close: async () => undefined }));
