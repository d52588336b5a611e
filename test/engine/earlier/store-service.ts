import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FaultProxy, startFaultProxy } from "../../backends/openai-fault-proxy.ts";
import { startWireService, type WireService } from "../../backends/openai-wire-service.ts";
import { type PackedFolder, packFolder, unpackFolder } from "./fixture.ts";

/** A remote service of vector stores, with what it held when a fixture was made. */
export class StoreService {
  readonly folder: string;
  readonly proxy: FaultProxy;
  readonly settings: Readonly<Record<string, string>>;
  readonly #service: WireService;

  private constructor(folder: string, service: WireService, proxy: FaultProxy) {
    this.folder = folder;
    this.#service = service;
    this.proxy = proxy;
    this.settings = {
      OPENAI_SERVICE_TYPE: "openai",
      OPENAI_API_KEY: "key-of-a-fixture",
      OPENAI_BASE_URL: `${proxy.url}/v1`,
    };
  }

  static async open(packed: PackedFolder): Promise<StoreService> {
    const folder = await mkdtemp(join(tmpdir(), "lockstep-service-"));
    await unpackFolder(packed, folder, []);
    const service = await startWireService(folder);
    return new StoreService(folder, service, await startFaultProxy(service.url));
  }

  /** Ends it, and tells what it held. */
  async close(): Promise<PackedFolder> {
    await this.proxy.close();
    await this.#service.close();
    const packed = await packFolder(this.folder);
    await rm(this.folder, { recursive: true, force: true });
    return packed;
  }
}
