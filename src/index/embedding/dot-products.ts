/** Memory for vectors, and the one operation on them; see kernelModule for what `scan` computes. */
export interface DotProducts {
  readonly buffer: ArrayBuffer;
  /** Invalidates views of the old buffer. Returns false if it cannot become that large; then it is unchanged. */
  grow(bytes: number): boolean;
  scan(vectors: number, scales: number, query: number, stride: number, count: number, out: number): void;
}

/** The part that we use; the typings of WebAssembly only come with those of browsers. */
interface Wasm {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (size: {
    initial: number;
    maximum: number;
  }) => { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly Instance: new (module: object, imports: object) => { readonly exports: Readonly<Record<string, unknown>> };
}

const PAGE_BYTES = 65_536;
/** The limit of 32-bit addresses. */
const MAX_BYTES = 2 ** 32;
let compiled: object | undefined;

/** Uses the vector instructions of the processor: about ten times as fast as JavaScript. */
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

/** Both kinds of memory throw a RangeError if there is no more. */
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

/**
 * The bytes of a WebAssembly module with one function, put together here so that what runs can be read:
 *
 *     scan(vectors, scales, query, stride, count, out)
 *
 * For `count` vectors (a multiple of 4) of `stride` signed bytes (a multiple of 16) that follow each other at `vectors`, it
 * writes the dot product with the 16-bit numbers at `query`, times the vector's number at `scales`, to `out`, as 32-bit
 * floats. Four vectors at a time share each load of the query. The memory is imported as `env.memory`.
 */
function kernelModule(): Uint8Array<ArrayBuffer> {
  const parameters = Array<number>(6).fill(I32);
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, list([[0x60, ...list(parameters.map((type) => [type])), 0x00]])),
    ...section(2, list([[...name("env"), ...name("memory"), 0x02, 0x00, 0x01]])),
    ...section(3, list([[0x00]])),
    ...section(7, list([[...name("scan"), 0x00, 0x00]])),
    ...section(10, list([sized([...locals(), ...scan(), END])])),
  ]);
}

const I32 = 0x7f;
const V128 = 0x7b;
const END = 0x0b;
const [VECTORS, SCALES, QUERY, STRIDE, COUNT, OUT] = [0, 1, 2, 3, 4, 5];
/** Locals: where we are in the first vector and in the query, the vector's end, and the last `out`. */
const [AT, IN_QUERY, ROW_END, OUT_END] = [6, 7, 8, 9];
/** Sixteen numbers of the query, as two vectors of eight, and sixteen of a vector. */
const [LOW, HIGH, BYTES] = [10, 11, 12];
/** The sums of the four vectors. */
const SUMS = [13, 14, 15, 16] as const;

const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const constant = (value: number): number[] => [0x41, ...signed(value)];
const add = (left: number[], right: number[]): number[] => [...left, ...right, 0x6a];
const multiply = (left: number[], right: number[]): number[] => [...left, ...right, 0x6c];
const simd = (code: number, ...rest: number[]): number[] => [0xfd, ...unsigned(code), ...rest];
const load = (address: number[], offset: number): number[] => [...address, ...simd(0x00, 0, ...unsigned(offset))];
const whileLess = (body: number[], left: number, right: number): number[] => [
  ...[0x03, 0x40, ...body],
  ...[...get(left), ...get(right), 0x49, 0x0d, 0x00, END],
];

function locals(): number[] {
  return list([
    [4, I32],
    [7, V128],
  ]);
}

function scan(): number[] {
  return [
    ...assign(OUT_END, add(get(OUT), multiply(get(COUNT), constant(4)))),
    ...whileLess(fourVectors(), OUT, OUT_END),
  ];
}

function fourVectors(): number[] {
  const advance = (local: number, by: number[]): number[] => assign(local, add(get(local), by));
  return [
    ...SUMS.flatMap((sum) => [...constant(0), ...simd(0x11), ...set(sum)]),
    ...assign(AT, get(VECTORS)),
    ...assign(IN_QUERY, get(QUERY)),
    ...assign(ROW_END, add(get(VECTORS), get(STRIDE))),
    ...whileLess(sixteenDimensions(), AT, ROW_END),
    ...SUMS.flatMap((sum, row) => storeScore(sum, row * 4)),
    ...advance(VECTORS, multiply(get(STRIDE), constant(4))),
    ...advance(SCALES, constant(16)),
    ...advance(OUT, constant(16)),
  ];
}

function sixteenDimensions(): number[] {
  const rows = SUMS.flatMap((sum, row) => {
    const address = row === 0 ? get(AT) : add(get(AT), multiply(get(STRIDE), constant(row)));
    const low = [...get(BYTES), ...simd(0x87), ...get(LOW), ...simd(0xba)];
    const high = [...get(BYTES), ...simd(0x88), ...get(HIGH), ...simd(0xba)];
    const sums = [...low, ...high, ...simd(0xae), ...get(sum), ...simd(0xae)];
    return [...load(address, 0), ...set(BYTES), ...sums, ...set(sum)];
  });
  return [
    ...[...load(get(IN_QUERY), 0), ...set(LOW)],
    ...[...load(get(IN_QUERY), 16), ...set(HIGH)],
    ...rows,
    ...assign(AT, add(get(AT), constant(16))),
    ...assign(IN_QUERY, add(get(IN_QUERY), constant(32))),
  ];
}

/** The four parts of the sum added up, as a float, times the scale. */
function storeScore(sum: number, offset: number): number[] {
  const lane = (at: number): number[] => [...get(sum), ...simd(0x1b, at)];
  const total = add(add(lane(0), lane(1)), add(lane(2), lane(3)));
  const scale = [...get(SCALES), 0x2a, 2, ...unsigned(offset)];
  return [...get(OUT), ...total, 0xb2, ...scale, 0x94, 0x38, 2, ...unsigned(offset)];
}

function assign(local: number, value: number[]): number[] {
  return [...value, ...set(local)];
}

function section(id: number, content: number[]): number[] {
  return [id, ...sized(content)];
}

function sized(bytes: number[]): number[] {
  return [...unsigned(bytes.length), ...bytes];
}

function list(items: number[][]): number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function name(text: string): number[] {
  return sized([...Buffer.from(text)]);
}

/** LEB128, as WebAssembly writes numbers. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  return value < 0x40 ? [value] : [(value & 0x7f) | 0x80, ...signed(value >>> 7)];
}
