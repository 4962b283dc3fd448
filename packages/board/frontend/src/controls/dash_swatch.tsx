/** A short piece of a run's line. */
export function DashSwatch({ colour, dash }: { colour: string; dash: number[] }) {
  return (
    <svg class="dash-swatch" viewBox="0 0 18 8" aria-hidden="true">
      <line
        x1="0"
        y1="4"
        x2="18"
        y2="4"
        stroke={colour}
        stroke-width="2.5"
        stroke-dasharray={dash.join(' ') || undefined}
      />
    </svg>
  );
}
