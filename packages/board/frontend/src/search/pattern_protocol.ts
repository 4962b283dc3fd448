/** The messages between a page and a worker that searches its names. */

export type PatternRequest<Names> =
  | { kind: 'names'; names: Names }
  | { kind: 'find'; serial: number; pattern: string };

/** `progress`: names were passed since the last reply. */
export type PatternReply<Found> = { serial: number } & (
  | { kind: 'progress' }
  | { kind: 'found'; found: Found }
  | { kind: 'invalid'; text: string }
);
