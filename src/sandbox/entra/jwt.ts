/** A JSON Web Token taken apart, nothing about it verified. */
export interface DecodedJwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** What the signature is over. */
  readonly signed: string;
  readonly signature: Uint8Array;
}

/** undefined when the text has not the form of a token. */
export function decodeJwt(token: string): DecodedJwt | undefined {
  const [header, claims, signature, ...rest] = token.split(".");
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0) return undefined;
  const [decodedHeader, decodedClaims] = [decodeObject(header), decodeObject(claims)];
  if (!decodedHeader || !decodedClaims) return undefined;
  return {
    header: decodedHeader,
    claims: decodedClaims,
    signed: `${header}.${claims}`,
    signature: Buffer.from(signature, "base64url"),
  };
}

function decodeObject(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export function encodeJwtPart(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
