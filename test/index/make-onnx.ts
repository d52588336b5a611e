/**
 * The bytes of a small ONNX model, written field by field: it looks every token up in a table, so that
 * `last_hidden_state[b, s] = table[input_ids[b, s]]`. The attention mask is an input that it does not use.
 */
export function makeLookupModel(table: readonly (readonly number[])[]): Uint8Array {
  const width = table[0]?.length ?? 0;
  const numbers = Buffer.from(Float32Array.from(table.flat()).buffer);
  const weights = message(ints(1, [table.length, width]), int(2, FLOAT), text(8, "table"), field(9, numbers));
  const node = message(text(1, "table"), text(1, "input_ids"), text(2, "last_hidden_state"), text(4, "Gather"));
  const graph = message(
    field(1, node),
    text(2, "lookup"),
    field(5, weights),
    field(11, valueInfo("input_ids", INT64, ["batch", "tokens"])),
    field(11, valueInfo("attention_mask", INT64, ["batch", "tokens"])),
    field(12, valueInfo("last_hidden_state", FLOAT, ["batch", "tokens", width])),
  );
  return message(int(1, 8), field(7, graph), field(8, message(int(2, 13))));
}

const FLOAT = 1;
const INT64 = 7;

function valueInfo(name: string, type: number, shape: readonly (string | number)[]): Uint8Array {
  const dimensions = shape.map((size) => field(1, typeof size === "string" ? text(2, size) : int(1, size)));
  const tensor = message(int(1, type), field(2, message(...dimensions)));
  return message(text(1, name), field(2, field(1, tensor)));
}

function message(...fields: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(fields);
}

function field(number: number, content: Uint8Array): Uint8Array {
  return Buffer.concat([varint(number * 8 + 2), varint(content.length), content]);
}

function text(number: number, content: string): Uint8Array {
  return field(number, Buffer.from(content));
}

function int(number: number, value: number): Uint8Array {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

function ints(number: number, values: readonly number[]): Uint8Array {
  return Buffer.concat(values.map((value) => int(number, value)));
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Uint8Array.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}
