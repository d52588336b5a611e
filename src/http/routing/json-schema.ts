/** As much of JSON Schema as the OpenAPI document needs to say what is accepted and what is answered. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: "string" | "integer" | "number" | "boolean" | "object" | "array";
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxProperties?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly default?: unknown;
  readonly description?: string;
}
