/** Sliders for brightness and contrast, in a small pop-up. */
import { PopUp } from '../../controls/pop_up.tsx';
import { lookOf, setLook, setOwnLook } from '../media_view.ts';

export function ImageAdjust({ tag }: { tag: string }) {
  const { brightness, contrast, own } = lookOf(tag);
  const changed = brightness !== 1 || contrast !== 1;
  return (
    <PopUp label="adjust" pressed={changed || own}>
      <Slider label="Brightness" value={brightness} onChange={(v) => setLook(tag, { brightness: v })} />
      <Slider label="Contrast" value={contrast} onChange={(v) => setLook(tag, { contrast: v })} />
      <label class="adjust-row" title="Zoom, brightness and contrast of this card, and of no other">
        <span>Only here</span>
        <input
          type="checkbox"
          checked={own}
          onChange={(event) => setOwnLook(tag, event.currentTarget.checked)}
        />
      </label>
      <button type="button" disabled={!changed} onClick={() => setLook(tag, { brightness: 1, contrast: 1 })}>
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
