/** Brings it to length 1, in place. What has no length stays as it is. */
export function normalise(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares > 0) {
    const factor = 1 / Math.sqrt(squares);
    for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) * factor;
  }
  return vector;
}
