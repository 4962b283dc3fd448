/** The button that makes a chart of several tags, or of an expression of tags. */

import { useRef, useState } from 'preact/hooks';
import { FormLayer } from '../../controls/form_layer.tsx';
import { Icon } from '../../controls/icons.tsx';
import {
  FUNCTIONS,
  parseCustomChart,
  tagsOfPattern,
  variablesOf,
} from '../../scalars/settings/chart_formula.ts';
import { customCharts } from '../../scalars/settings/chart_settings.ts';
import { scalarTags } from '../../scalars/settings/custom_charts.ts';
import { safeText } from '../../strings/safe_text.ts';
import { counted } from '../../units/numbers.ts';

export function NewChart() {
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const [text, setText] = useState('');
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const { ok, message } = found(text);
  return (
    <>
      <button
        ref={button}
        type="button"
        class="tool"
        title="New chart"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name="plus" /> <span class="tool-text">chart</span>
      </button>
      {open && button.current && (
        <FormLayer anchor={button.current} close={close} label="New chart">
          <form
            class="stack"
            onSubmit={(event) => {
              event.preventDefault();
              if (!ok) return;
              if (!customCharts.value.includes(text)) customCharts.value = [...customCharts.value, text];
              setText('');
              close();
            }}
          >
            <label class="stack">
              Tags by a pattern, or = and an expression
              <input
                type="text"
                spellcheck={false}
                placeholder="loss$   or   =train/loss - eval/loss"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
            <p class="faint">{message}</p>
            <button type="submit" class="primary" disabled={!ok}>
              Add the chart
            </button>
          </form>
        </FormLayer>
      )}
    </>
  );
}

/** What a text would make. */
function found(text: string): { ok: boolean; message: string } {
  if (text === '') {
    const message = `All matching tags are drawn on one chart. Expressions may use + − * / ( ), ${FUNCTIONS.join(', ')}; a tag in {braces} may contain any character.`;
    return { ok: false, message };
  }
  const { kind, text: written } = parseCustomChart(text);
  if (kind === 'expression') {
    const { tags, missing } = variablesOf(written, scalarTags.value);
    if (missing.length > 0)
      return { ok: false, message: `There is no tag ${safeText(missing.join(', '), 160)}.` };
    if (tags.length === 0) return { ok: false, message: 'It does not name a tag yet.' };
    return { ok: true, message: `Uses ${safeText(tags.map((tag) => tag.name).join(', '), 160)}.` };
  }
  const { tags, count, error } = tagsOfPattern(written, scalarTags.value);
  if (error !== null) return { ok: false, message: `The pattern is not valid: ${error}.` };
  if (count === 0) return { ok: false, message: 'No tag matches.' };
  const names = safeText(tags.map((tag) => tag.name).join(', '), 160);
  const cut = count > tags.length ? `, of which the first ${tags.length} are drawn` : '';
  return { ok: true, message: `${counted(count, 'tag')}${cut}: ${names}` };
}
