/** The form for a card's own settings: scale and range of y, outliers, smoothing. */

import { FormLayer } from '../controls/form_layer.tsx';
import { TypedField } from '../controls/typed_field.tsx';
import { safeText } from '../strings/safe_text.ts';
import { type CardStyle, setCardStyle, styleOfCard } from './settings/card_style.ts';
import { ignoreOutliers, type Scale, smoothing, yScale } from './settings/chart_settings.ts';

interface Props {
  id: string;
  title: string;
  anchor: Element;
  close: () => void;
}

export function CardSettings({ id, title, anchor, close }: Props) {
  const style = styleOfCard(id);
  /** Takes out what is undefined: the page's settings hold there. */
  const set = (change: { [K in keyof CardStyle]: CardStyle[K] | undefined }) => {
    // What the layer shows may be older than the last change.
    const next = Object.entries({ ...styleOfCard(id), ...change }).filter(([, value]) => value !== undefined);
    setCardStyle(id, Object.fromEntries(next));
  };
  const end = (name: 'lo' | 'hi', label: string) => (
    <div class="setting">
      <span>{label}</span>
      <TypedField
        type="number"
        aria-label={label}
        placeholder="auto"
        value={String(style[name] ?? '')}
        onCommit={(text) => set({ [name]: text === '' ? undefined : Number(text) })}
      />
    </div>
  );
  const isEmptyRange = style.lo !== undefined && style.hi !== undefined && style.lo >= style.hi;
  return (
    <FormLayer anchor={anchor} close={close} label={`Axes of ${safeText(title, 80)}`} class="card-settings">
      <label>
        <span>y axis</span>
        <select
          value={style.y ?? ''}
          onChange={(event) => set({ y: (event.currentTarget.value || undefined) as Scale | undefined })}
        >
          <option value="">page setting ({yScale.value})</option>
          <option>linear</option>
          <option>log</option>
          <option>symlog</option>
        </select>
      </label>
      {end('lo', 'y from')}
      {end('hi', 'y to')}
      {isEmptyRange && <p class="query-error">The end of the range is below its beginning.</p>}
      <label>
        <span>outliers</span>
        <select
          value={style.out === undefined ? '' : String(style.out)}
          onChange={({ currentTarget: { value } }) =>
            set({ out: value === '' ? undefined : value === 'true' })
          }
        >
          <option value="">page setting ({ignoreOutliers.value ? 'left out' : 'shown'})</option>
          <option value="false">shown</option>
          <option value="true">left out</option>
        </select>
      </label>
      <div class="setting">
        <span>smoothing</span>
        <TypedField
          type="number"
          aria-label="smoothing"
          placeholder={`page setting (${smoothing.value})`}
          value={String(style.smooth ?? '')}
          onCommit={(text) =>
            set({ smooth: text === '' ? undefined : Math.max(0, Math.min(0.9999, Number(text))) })
          }
        />
      </div>
      <button type="button" class="quiet" onClick={() => setCardStyle(id, {})}>
        use the page’s settings
      </button>
    </FormLayer>
  );
}
