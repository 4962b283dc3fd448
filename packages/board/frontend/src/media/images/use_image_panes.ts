/** Which images a card shows: one for each run at the card's step, and the partner of a comparison. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Run, Tag } from '../../api/types.ts';
import { ALL_SAMPLES, chosenStep, unionOfSteps } from '../../cards/card_choice.ts';
import { stepCursor } from '../../state/selection.ts';
import { type BlobRows, placeNear, useRows } from '../blob_rows.ts';
import { choiceOf, compare } from '../media_view.ts';
import type { PaneState } from './image_pane.tsx';
import { type ImageRequest, pictureOf } from './image_store.ts';

const PREFETCH_OFFSETS = [1, -1, 2, -2];
const PREFETCH_RUNS = 4;
const PREFETCH_AFTER_MS = 30;

export interface Pane {
  run: Run;
  requested: ImageRequest;
}

export interface ImagePanes {
  rows: ReadonlyMap<number, BlobRows>;
  steps: number[];
  step: number | null;
  /** ALL_SAMPLES: all at once. */
  sample: number;
  /** The images at the step, and those of them that are drawn: not the partner itself. */
  panes: Pane[];
  drawn: Pane[];
  partnerRun: Run | undefined;
  partner: ImageRequest | null;
  failure: string | null;
  /** Why there is no image in the selected steps. */
  nothing: string | null;
}

export function useImagePanes(tag: Tag, shown: Run[]): ImagePanes {
  const { rows, failure, nothing } = useRows(
    tag.id,
    shown.map((run) => run.id),
  );
  const choice = choiceOf(tag.name);
  const steps = useMemo(() => unionOfSteps([...rows.values()].map((r) => r.steps)), [rows]);
  const step = chosenStep(steps, choice.step, stepCursor.value);
  const sample = choice.sample ?? 0;

  const requestOf = (run: Run, at: number): ImageRequest | null => {
    const place = placeNear(run.id, tag.id, rows.get(run.id), at);
    return place && { ...place, sample: sample === ALL_SAMPLES ? 0 : sample };
  };
  const panes = shown.flatMap((run) => {
    const requested = step === null ? null : requestOf(run, step);
    return requested ? [{ run, requested }] : [];
  });
  const partnerRun = shown.find((run) => run.name === choice.otherRun) ?? shown[1] ?? shown[0];
  const partnerStep = choice.otherStep ?? (shown.length > 1 && step !== null ? step : (steps[0] ?? 0));
  const partner = compare.value === 'off' || !partnerRun ? null : requestOf(partnerRun, partnerStep);
  const others = partner
    ? panes.filter(({ requested }) => requested.run !== partner.run || requested.row !== partner.row)
    : panes;
  const drawn = others.length > 0 ? others : panes.slice(0, 1);

  usePrefetch(steps, step, [rows, sample], (at) =>
    shown.slice(0, PREFETCH_RUNS).flatMap((run) => requestOf(run, at) ?? []),
  );
  return { rows, steps, step, sample, panes, drawn, partnerRun, partner, failure, nothing };
}

/** Fetches the images of the steps beside the shown one ahead. */
function usePrefetch(
  steps: number[],
  step: number | null,
  about: readonly unknown[],
  requestsAt: (step: number) => ImageRequest[],
): void {
  useEffect(() => {
    if (step === null) return;
    const at = steps.indexOf(step);
    const timer = setTimeout(() => {
      for (const offset of PREFETCH_OFFSETS) {
        const next = steps[at + offset];
        if (next === undefined) continue;
        for (const requested of requestsAt(next)) void pictureOf(requested).catch(() => undefined);
      }
    }, PREFETCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [step, ...about]);
}

/** What each pane painted last, by the name of its run. */
export function usePaneStates(drawn: Pane[]): {
  states: ReadonlyMap<string, PaneState>;
  setState: (run: Run, state: PaneState) => void;
} {
  const [states, setStates] = useState<ReadonlyMap<string, PaneState>>(new Map());
  const setState = (run: Run, state: PaneState) =>
    setStates((old) => {
      const next = new Map([...old].filter(([name]) => drawn.some((pane) => pane.run.name === name)));
      return next.set(run.name, state);
    });
  return { states, setState };
}
