/** What the axes of all charts show. */
import { ignoreOutliers, xLog, xMode, xTag, yScale, zooms } from '../../scalars/settings/chart_settings.ts';
import { scalarTags } from '../../scalars/settings/custom_charts.ts';
import { safeText } from '../../strings/safe_text.ts';
import { Check } from './check.tsx';

export function XAxis() {
  return (
    <span class="field">
      <label>
        <span>x</span>
        <select
          aria-label="x axis"
          value={xMode.value}
          onChange={(event) => {
            xMode.value = event.currentTarget.value as typeof xMode.value;
            // Where a chart was zoomed to is nowhere on another axis.
            zooms.value = [];
            if (xMode.value === 'tag' && !xTag.value) xTag.value = scalarTags.value[0]?.name ?? '';
          }}
        >
          <option value="step">step</option>
          <option value="relative">relative</option>
          <option value="wall">wall time</option>
          <option value="tag">a tag…</option>
        </select>
      </label>
      {xMode.value === 'tag' && (
        <select
          class="narrow"
          aria-label="Tag on the x axis"
          value={xTag.value}
          onChange={(event) => {
            xTag.value = event.currentTarget.value;
          }}
        >
          {scalarTags.value.map((tag) => (
            <option key={tag.id} value={tag.name}>
              {safeText(tag.name)}
            </option>
          ))}
        </select>
      )}
      <Check
        label="log"
        title="Logarithmic x axis"
        on={xLog.value}
        off={xMode.value === 'wall'}
        set={(on) => {
          xLog.value = on;
        }}
      />
    </span>
  );
}

export function YAxis() {
  return (
    <>
      <label class="field">
        <span>y</span>
        <select
          aria-label="Scale of the y axis"
          value={yScale.value}
          onChange={(event) => {
            yScale.value = event.currentTarget.value as typeof yScale.value;
          }}
        >
          <option>linear</option>
          <option>log</option>
          <option>symlog</option>
        </select>
      </label>
      <Check
        label="no outliers"
        title="Fit y to the middle 90 % of the values; values beyond are marked"
        on={ignoreOutliers.value}
        set={(on) => {
          ignoreOutliers.value = on;
        }}
      />
    </>
  );
}
