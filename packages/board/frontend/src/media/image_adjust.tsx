/** Sliders for brightness and contrast, in a small pop-up. */
import { PopUp } from '../histograms/pop_up.tsx';
import { brightness, contrast } from './media_view.ts';

export function ImageAdjust() {
  const changed = brightness.value !== 1 || contrast.value !== 1;
  return (
    <PopUp label="adjust" pressed={changed}>
      <Slider label="Brightness" value={brightness.value} onChange={(v) => (brightness.value = v)} />
      <Slider label="Contrast" value={contrast.value} onChange={(v) => (contrast.value = v)} />
      <button
        type="button"
        disabled={!changed}
        onClick={() => {
          brightness.value = 1;
          contrast.value = 1;
        }}
      >
        Reset
      </button>
    </PopUp>
  );
}

function Slider({ label, value, onChange }: { label: string; value: number; onChange: (v: number) => void }) {
  return (
    <label class="adjust-row">
      <span>{label}</span>
      <input
        type="range"
        min={0}
        max={4}
        step={0.05}
        value={value}
        onInput={(event) => onChange(Number(event.currentTarget.value))}
      />
      <output>{value.toFixed(2)}</output>
    </label>
  );
}
