/** The tool bar of an image card: comparison, zoom, levels, sample of the batch. */
import { ALL_SAMPLES } from '../../cards/card_choice.ts';
import { ToolBar, ToolChoice } from '../../controls/tool_bar.tsx';
import { type Compare, compare, lookOf, setChoice, setLook } from '../media_view.ts';
import { ImageAdjust } from './image_adjust.tsx';
import { zoomChoices } from './tile_grid.ts';

/** Cards narrower than this show the comparison as a menu, in CSS pixels. */
const NARROW = 400;
const COMPARE: [Compare, string][] = [
  ['off', 'Plain'],
  ['wipe', 'Wipe'],
  ['difference', 'Difference'],
];

interface Props {
  tag: string;
  name: string;
  width: number;
  sample: number;
  samples: number;
}

export function ImageTools({ tag, name, width, sample, samples }: Props) {
  const { zoom } = lookOf(tag);
  return (
    <ToolBar label={`View of ${name}`}>
      <ToolChoice
        quiet={width < NARROW}
        label="Comparison"
        value={compare.value}
        options={COMPARE}
        onChange={(v) => (compare.value = v)}
      />
      <select
        class="tool"
        aria-label="Zoom"
        title="Zoom; keys + − 0 1"
        value={zoom}
        onChange={(event) => setLook(tag, { zoom: Number(event.currentTarget.value) })}
      >
        {zoomChoices(zoom).map((one) => (
          <option key={one} value={one}>
            {one === 0 ? 'fit' : one === 1 ? 'actual size' : `${one}×`}
          </option>
        ))}
      </select>
      <ImageAdjust tag={tag} />
      {samples > 1 && (
        <label class="step-field">
          <select
            aria-label="Sample of the batch"
            class="tool"
            value={sample}
            onChange={(event) => setChoice(tag, { sample: Number(event.currentTarget.value) })}
          >
            <option value={ALL_SAMPLES}>all {samples} samples</option>
            {Array.from({ length: samples }, (_, i) => (
              <option key={String(i)} value={i}>
                sample {i + 1} of {samples}
              </option>
            ))}
          </select>
        </label>
      )}
    </ToolBar>
  );
}
