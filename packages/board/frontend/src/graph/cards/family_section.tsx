/** Templates (groups of equal structure) and families (groups of similar structure). */
import { useState } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import { paintTheme } from '../canvas/canvas_theme.ts';
import { toneBorder, toneFill } from '../drawing/paint.ts';
import type { Session } from '../session/session.ts';
import { StructuralDiff } from './structural_diff.tsx';

/** Groups of equal and of similar structure, and their differences. */
export function FamilySection({ session, group: selected }: { session: Session; group: number }) {
  const { model } = session;
  const group = model.unwrapped(selected);
  const family = model.header.families[model.family[group]!]!;
  const own = model.template[group]!;
  const [most, setMost] = useState(10);
  const members: number[] = [];
  for (let g = model.root + 1; g < model.total; g++)
    if (model.family[g] === model.family[group] && !model.isWrapper(g)) members.push(g);
  members.sort((a, b) => Number(model.template[b] === own) - Number(model.template[a] === own) || a - b);
  const exact = members.filter((g) => model.template[g] === own).length;
  const near = model.near[group]!;
  const proven = model.header.templates[own]?.exact ?? true;
  const main = members.find((g) => model.template[g] === family.main && g !== group);
  const theme = paintTheme.value;
  return (
    <section>
      <h3>
        <span
          class="g-swatch"
          ref={(element) => {
            if (!element) return;
            element.style.background = toneFill(theme, family.hue, family.tone);
            element.style.borderColor = toneBorder(theme, family.hue);
          }}
        />
        Structure <span class="count">{members.length}</span>
      </h3>
      <p class="g-quiet-text">
        {exact > 1
          ? proven
            ? `${exact} groups are exactly alike`
            : `${exact} groups look alike; that they are was too much to prove`
          : 'No other group is exactly alike'}
        {members.length > exact ? `, ${members.length - exact} nearly so.` : '.'}
      </p>
      {near > 0 && main !== undefined && (
        <StructuralDiff
          session={session}
          a={main}
          b={group}
          text={`${near} ${near === 1 ? 'op differs' : 'ops differ'} from ${model.labels[main]}`}
        />
      )}
      <ul class="g-node-links">
        {members
          .filter((g) => g !== group)
          .slice(0, most)
          .map((g) => (
            <li key={g}>
              <button type="button" class="g-node-link" onClick={() => session.goTo(g)}>
                <span class="g-node-link-name">
                  <bdi>{safeText(model.path(g))}</bdi>
                </span>
                <span class="g-node-link-more">
                  {model.template[g] === own ? 'same' : model.near[g] ? `${model.near[g]} differ` : 'main'}
                </span>
              </button>
            </li>
          ))}
      </ul>
      {members.length - 1 > most && (
        <button type="button" class="quiet" onClick={() => setMost(most + 200)}>
          {members.length - 1 - most} more
        </button>
      )}
    </section>
  );
}
