/** What a media card shows of its tag: its own step, sample and partner of a comparison. In the address. */
import { type Codec, list } from '../address/url_codec.ts';

/** In place of the number of a sample. */
export const ALL_SAMPLES = -1;

export interface CardChoice {
  /** The card's own step; without it the card follows the global step cursor. */
  step?: number;
  /** ALL_SAMPLES: all at once. */
  sample?: number;
  /** The partner of a comparison: a run's name and a step. */
  otherRun?: string;
  otherStep?: number;
  /** The card's own look; without it the card uses the look of all cards. */
  zoom?: number;
  brightness?: number;
  contrast?: number;
}

export type Choices = Record<string, CardChoice>;

const KEYS = {
  s: 'step',
  i: 'sample',
  o: 'otherStep',
  z: 'zoom',
  b: 'brightness',
  c: 'contrast',
} as const;

export const choicesCodec: Codec<Choices> = {
  encode: (choices) =>
    list.encode(
      Object.keys(choices)
        .sort()
        .flatMap((tag) => {
          const packed = pack(choices[tag]!);
          return packed ? [tag, packed] : [];
        }),
    ),
  decode: (text) => {
    const items = list.decode(text);
    if (!items || items.length % 2) return undefined;
    const choices: Choices = Object.create(null);
    for (let i = 0; i < items.length; i += 2) choices[items[i]!] = unpack(items[i + 1]!);
    return choices;
  },
};

function pack(choice: CardChoice): string {
  const parts: string[] = [];
  for (const [letter, key] of Object.entries(KEYS)) {
    if (choice[key] !== undefined) parts.push(`${letter}${choice[key]}`);
  }
  if (choice.otherRun !== undefined) parts.push(`r${choice.otherRun}`);
  return parts.join(';');
}

function unpack(text: string): CardChoice {
  const choice: CardChoice = {};
  // The run's name is last and may contain any character.
  const run = /(?:^|;)r(.*)$/s.exec(text);
  if (run) choice.otherRun = run[1]!;
  for (const part of (run ? text.slice(0, run.index) : text).split(';')) {
    const key = KEYS[part[0] as keyof typeof KEYS];
    const value = Number(part.slice(1));
    if (key && part.length > 1 && Number.isFinite(value)) choice[key] = value;
  }
  return choice;
}

/** All steps of several series, each once, in order. */
export function unionOfSteps(series: ArrayLike<number>[]): number[] {
  const all = new Set<number>();
  for (const steps of series) for (let i = 0; i < steps.length; i++) all.add(steps[i]!);
  return [...all].sort((a, b) => a - b);
}

/** The place in ascending steps that is nearest to one; of two alike near the later. -1: there is none. */
export function nearestIndex(steps: ArrayLike<number>, step: number): number {
  let lo = 0;
  let hi = steps.length - 1;
  if (hi < 0) return -1;
  while (lo < hi) {
    const middle = (lo + hi) >> 1;
    if (steps[middle]! < step) lo = middle + 1;
    else hi = middle;
  }
  return lo > 0 && step - steps[lo - 1]! < steps[lo]! - step ? lo - 1 : lo;
}

/** The step that a card shows of those that there are: its own, else the cursor's, else the last. */
export function chosenStep(steps: number[], own: number | undefined, cursor: number | null): number | null {
  if (steps.length === 0) return null;
  const requested = own ?? cursor;
  return requested === null ? steps[steps.length - 1]! : steps[nearestIndex(steps, requested)]!;
}
