import { Type } from 'typebox';

/** The part of a request that says where new containers get their sizes from. Clients send null where they leave that open. */
export const InitialResources = <const Value extends string>(...values: Value[]) =>
  Type.Optional(
    Type.Unsafe<{ init?: Value | null } | null>({
      type: ['object', 'null'],
      properties: { init: { type: ['string', 'null'], enum: [...values, null] } },
      additionalProperties: false,
    }),
  );
