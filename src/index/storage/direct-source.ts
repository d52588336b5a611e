/** Files attached over the wire. Their one generation has number 0, so they are visible at once and in every generation. */
export const DIRECT_SOURCE = "_direct";
export const DIRECT_GENERATION = 1;
