import { Type } from 'typebox';

/** What a request says of where new containers get their sizes from. Clients send null for what they do not say. */
export const InitialResources = <const Value extends string>(...values: Value[]) =>
  Type.Optional(
    Type.Unsafe<{ init?: Value | null } | null>({
      type: ['object', 'null'],
      properties: { init: { type: ['string', 'null'], enum: [...values, null] } },
      additionalProperties: false,
    }),
  );
