/** The images of a card, one for each run, as large as the card allows. */

import type { Run } from '../../api/types.ts';
import { RunName } from '../../runs/run_name.tsx';
import { runTitle } from '../../state/run_title.ts';
import { safeText } from '../../strings/safe_text.ts';
import { ImagePane, type PaneProps, type PaneState } from './image_pane.tsx';
import { bestColumns } from './tile_grid.ts';
import type { Pane } from './use_image_panes.ts';

const TITLE_PX = 20;
const GAP_PX = 8;
/** More samples of one image would be too small to see. */
export const MOST_SAMPLES = 64;

interface TilesProps {
  /** The name of the tag. */
  name: string;
  panes: Pane[];
  /** The step of the card; images of another step say so. */
  step: number | null;
  /** How many samples of each image are drawn at once; 1: the requested one. */
  samples: number;
  withRunNames: boolean;
  width: number;
  height: number;
  /** What all images have in common. */
  common: Pick<PaneProps, 'other' | 'mode' | 'wipe' | 'gain' | 'adjustment' | 'zoom' | 'onWipe' | 'onPixel'>;
  onState: (run: Run, state: PaneState) => void;
}

export function ImageTiles({
  name,
  panes,
  step,
  samples,
  withRunNames,
  width,
  height,
  common,
  onState,
}: TilesProps) {
  const shown = Math.min(samples, MOST_SAMPLES);
  const size = tileSize((panes.length || 1) * shown, width, height);
  const tiles = panes.flatMap((pane) =>
    Array.from({ length: shown }, (_, i) => ({
      ...pane,
      sample: shown > 1 ? i : pane.requested.sample,
      first: i === 0,
    })),
  );
  return (
    <div class="image-tiles" style={{ minHeight: `${height}px` }}>
      {tiles.map(({ run, requested, sample, first }) => (
        <figure key={`${run.id} ${shown > 1 ? sample : ''}`} style={{ width: `${size.width}px` }}>
          {(withRunNames || requested.step !== step || shown > 1) && (
            <figcaption>
              {(withRunNames || requested.step !== step) && <RunName run={run} />}
              {shown > 1 && <span class="faint"> {sample + 1}</span>}
              {requested.step !== step && <span class="faint"> step {requested.step}</span>}
            </figcaption>
          )}
          <ImagePane
            {...common}
            {...size}
            requested={{ ...requested, sample }}
            label={`${name}, run ${safeText(runTitle(run.name), 120)}, step ${requested.step}${shown > 1 ? `, sample ${sample + 1}` : ''}`}
            onState={(state) => first && onState(run, state)}
          />
        </figure>
      ))}
    </div>
  );
}

/** The size of each of so many tiles within a width and a height, in CSS pixels. */
function tileSize(count: number, width: number, height: number): { width: number; height: number } {
  const columns = bestColumns(count, width, height);
  const rows = Math.ceil(count / columns);
  return {
    width: Math.floor((width - GAP_PX * (columns + 1)) / columns),
    height: Math.max(48, Math.floor((height - GAP_PX * rows) / rows) - TITLE_PX),
  };
}
