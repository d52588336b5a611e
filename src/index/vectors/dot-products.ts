import { kernelModule } from "./kernel-module.ts";

/** Memory that vectors live in, and the one thing done with them; see kernel-module.ts for what `scan` computes. */
export interface DotProducts {
  readonly buffer: ArrayBuffer;
  /** Views of the old buffer are void afterwards. false: it cannot become so large, and is as it was. */
  grow(bytes: number): boolean;
  scan(vectors: number, scales: number, query: number, stride: number, count: number, out: number): void;
}

/** What we use of it; the typings of WebAssembly come with those of browsers only. */
interface Wasm {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (size: {
    initial: number;
    maximum: number;
  }) => { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly Instance: new (module: object, imports: object) => { readonly exports: Readonly<Record<string, unknown>> };
}

const PAGE_BYTES = 65_536;
/** What 32 bits can address. */
const MAX_BYTES = 2 ** 32;
let compiled: object | undefined;

/** With the vector instructions of the processor, about ten times as fast as what JavaScript can do. */
function wasmDotProducts(wasm: Wasm, maxBytes: number): DotProducts {
  compiled ??= new wasm.Module(kernelModule());
  const memory = new wasm.Memory({ initial: 1, maximum: Math.floor(maxBytes / PAGE_BYTES) });
  const { exports } = new wasm.Instance(compiled, { env: { memory } });
  return {
    get buffer() {
      return memory.buffer;
    },
    grow(bytes) {
      const missing = Math.ceil(bytes / PAGE_BYTES) - memory.buffer.byteLength / PAGE_BYTES;
      return missing <= 0 || succeeds(() => memory.grow(missing));
    },
    scan: exports["scan"] as DotProducts["scan"],
  };
}

/** For a Node that was started without WebAssembly. */
export function plainDotProducts(): DotProducts {
  let buffer = new ArrayBuffer(PAGE_BYTES);
  return {
    get buffer() {
      return buffer;
    },
    grow(bytes) {
      if (bytes <= buffer.byteLength) return true;
      return succeeds(() => {
        buffer = buffer.transfer(Math.max(bytes, Math.ceil(buffer.byteLength * 1.5)));
      });
    },
    scan(vectors, scales, query, stride, count, out) {
      const queried = new Int16Array(buffer, query, stride);
      const steps = new Int8Array(buffer, vectors, stride * count);
      const factors = new Float32Array(buffer, scales, count);
      const scores = new Float32Array(buffer, out, count);
      for (let slot = 0; slot < count; slot++) {
        let sum = 0;
        for (let at = 0, from = slot * stride; at < stride; at++) {
          sum += (queried[at] as number) * (steps[from + at] as number);
        }
        scores[slot] = sum * (factors[slot] as number);
      }
    },
  };
}

/** Both kinds of memory say with a RangeError that there is no more of it. */
function succeeds(grow: () => unknown): boolean {
  try {
    grow();
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

export function createDotProducts(maxBytes = MAX_BYTES): DotProducts {
  const { WebAssembly: wasm } = globalThis as { WebAssembly?: Wasm };
  return wasm ? wasmDotProducts(wasm, maxBytes) : plainDotProducts();
}
