/** How the curves of all charts are smoothed. */
import { smoothing, smoothKind, windowWidth } from '../../scalars/settings/chart_settings.ts';

export function SmoothingControl() {
  const weight = smoothing.value;
  // The slider is finer near 1, where it matters.
  const position = weight <= 0 ? 0 : 1 - (1 - weight) ** (1 / 2.5);
  return (
    <span class="field">
      <span class="tool-text">smooth</span>
      <select
        aria-label="Kind of smoothing"
        value={smoothKind.value}
        onChange={(event) => {
          smoothKind.value = event.currentTarget.value as typeof smoothKind.value;
        }}
      >
        <option value="ema">EMA</option>
        <option value="mean">mean</option>
        <option value="median">median</option>
      </select>
      <input
        type="range"
        min="0"
        max="1000"
        step="1"
        aria-label="Smoothing"
        value={Math.round(position * 1000)}
        onInput={(event) => {
          const p = Number(event.currentTarget.value) / 1000;
          smoothing.value = p <= 0 ? 0 : Math.min(0.9999, Math.round((1 - (1 - p) ** 2.5) * 1e4) / 1e4);
        }}
        onDblClick={() => {
          smoothing.value = 0;
        }}
      />
      <output class="smooth-value">
        {weight <= 0
          ? 'off'
          : smoothKind.value === 'ema'
            ? weight.toFixed(weight > 0.99 ? 4 : 2)
            : windowWidth(weight)}
      </output>
    </span>
  );
}
