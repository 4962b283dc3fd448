/** The card of what is selected: an op, a group, a stack, or the graph as a whole. */
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../api/client.ts';
import { safeText } from '../shell/safe_text.ts';
import { goTo as goToPage } from '../state/url_state.ts';
import { count } from './canvas/draw_scene.ts';
import { toneBorder, toneFill } from './canvas/paint.ts';
import { inputsOf, type Neighbour, outputsOf } from './model/reach.ts';
import { isOpen, isSide, itemOf } from './model/view_state.ts';
import { type Session, tracing } from './session.ts';
import { paintTheme } from './theme_of_paint.ts';
import { duration, megabytes } from './units.ts';

interface NodeReply {
  attrs?: { name: string; type?: string; value: unknown; cut?: boolean }[];
  shapes?: unknown[];
  dtypes?: string[];
}

const MOST_ROWS = 12;

export function Inspector({ session }: { session: Session }) {
  const selected = session.selected.value;
  void session.view.value;
  if (selected === null) return <GraphCard session={session} />;
  if (selected >= session.model.total) return <StackCard session={session} item={selected} />;
  if (session.model.isGroup(selected)) return <GroupCard session={session} group={selected} />;
  return <OpCard session={session} op={selected} />;
}

function Title({ session, item, kind }: { session: Session; item: number; kind: string }) {
  const name = session.nameOfItem(item);
  const at = name.lastIndexOf('/');
  return (
    <header class="g-card-title">
      <div class="g-card-kind">{kind}</div>
      <h2 title={safeText(name)}>
        {at >= 0 && <span class="g-card-path">{safeText(name.slice(0, at + 1))}</span>}
        <wbr />
        {safeText(name.slice(at + 1))}
      </h2>
    </header>
  );
}

function Actions({ session, item }: { session: Session; item: number }) {
  const { model } = session;
  const view = session.view.value;
  const side = isSide(model, view, item);
  const series = item < model.total ? model.series[item]! : -1;
  const unfolded = series >= 0 && itemOf(model, view, item) === item;
  const open = isOpen(model, view, item);
  return (
    <div class="g-card-actions">
      {(model.isGroup(item) || item >= model.total) && (
        <button type="button" onClick={() => session.toggle(item)}>
          {item >= model.total ? 'Show all' : open ? 'Close' : 'Open'}
        </button>
      )}
      {item >= model.total && (
        <button type="button" onClick={() => session.toggle(item, true)}>
          Show one
        </button>
      )}
      {unfolded && (
        <button type="button" onClick={() => session.fold(series)}>
          Fold {safeText(model.header.series[series]!.pattern)}
        </button>
      )}
      <button type="button" onClick={() => session.moveToSide(item, !side)}>
        {side ? 'To the main area' : 'To the side area'}
      </button>
      <label class="g-card-reach">
        Trace{' '}
        <select
          value={tracing.value}
          onChange={(event) => {
            tracing.value = event.currentTarget.value as typeof tracing.value;
          }}
        >
          <option value="none">nothing</option>
          <option value="inputs">its inputs</option>
          <option value="outputs">what it feeds</option>
          <option value="both">both</option>
        </select>
      </label>
    </div>
  );
}

function Facts({ rows }: { rows: [string, preact.ComponentChildren][] }) {
  return (
    <dl class="g-facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function costRows(session: Session, vertex: number): [string, preact.ComponentChildren][] {
  const costs = session.costs.value;
  if (!costs) return [];
  const rows: [string, preact.ComponentChildren][] = [];
  const time = costs.time.total[vertex]!;
  const memory = costs.memory.total[vertex]!;
  if (time >= 0) rows.push(['Compute time', duration(time)]);
  if (memory >= 0) rows.push(['Memory', megabytes(memory)]);
  return rows;
}

function OpCard({ session, op }: { session: Session; op: number }) {
  const { model } = session;
  const [node, setNode] = useState<NodeReply | null>(null);
  const [wrong, setWrong] = useState('');
  useEffect(() => {
    const controller = new AbortController();
    setNode(null);
    setWrong('');
    getJson<NodeReply>(`graph/${session.entry.id}/node`, { index: op }, controller.signal).then(
      setNode,
      (e) => {
        if (!controller.signal.aborted) setWrong(String(e instanceof Error ? e.message : e));
      },
    );
    return () => controller.abort();
  }, [session, op]);
  const facts: [string, preact.ComponentChildren][] = [['Op', <b>{safeText(model.opName(op))}</b>]];
  if (model.deviceName(op)) facts.push(['Device', safeText(model.deviceName(op))]);
  if (model.shapeOf(op)) facts.push(['Output', safeText(model.shapeOf(op))]);
  const bytes = model.outputBytes[op]!;
  if (bytes >= 0) facts.push(['Size', megabytes(bytes)]);
  facts.push(...costRows(session, op));
  const called = model.header.functions.filter((f) => f.callers.includes(op));
  return (
    <div class="g-card">
      <Title session={session} item={op} kind="Op" />
      <Actions session={session} item={op} />
      <Facts rows={facts} />
      {called.length > 0 && (
        <Neighbours
          session={session}
          title="Calls"
          list={called.map((f) => ({ vertex: f.group, port: 0, control: false }))}
        />
      )}
      <Neighbours session={session} title="Inputs" list={inputsOf(model, op)} />
      <Neighbours session={session} title="Outputs" list={outputsOf(model, op)} />
      <section>
        <h3>Attributes</h3>
        {wrong && <p class="g-quiet-text">{wrong}</p>}
        {!node && !wrong && <p class="g-quiet-text">…</p>}
        {node && (node.attrs ?? []).length === 0 && <p class="g-quiet-text">none</p>}
        <dl class="g-facts g-attributes">
          {(node?.attrs ?? []).map((attr) => (
            <div key={attr.name}>
              <dt>{safeText(attr.name)}</dt>
              <dd>
                {safeText(typeof attr.value === 'string' ? attr.value : JSON.stringify(attr.value))}
                {attr.cut ? '…' : ''}
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <button type="button" class="g-wide" onClick={() => goToPage('trace')}>
        Its slices on the Trace page
      </button>
    </div>
  );
}

function Neighbours({ session, title, list }: { session: Session; title: string; list: Neighbour[] }) {
  const { model } = session;
  const [most, setMost] = useState(MOST_ROWS);
  if (list.length === 0) {
    return (
      <section>
        <h3>{title}</h3>
        <p class="g-quiet-text">none</p>
      </section>
    );
  }
  return (
    <section>
      <h3>
        {title} <span class="count">{list.length}</span>
      </h3>
      <ul class="g-node-links">
        {list.slice(0, most).map((n, i) => (
          <li key={`${n.vertex}/${n.port}/${i}`}>
            <button type="button" class="g-node-link" onClick={() => session.goTo(n.vertex)}>
              <span class={n.control ? 'g-port control' : 'g-port'}>{n.control ? '^' : n.port}</span>
              <span class="g-node-link-name">
                <bdi>{safeText(model.path(n.vertex))}</bdi>
              </span>
              <span class="g-node-link-more">
                {n.control ? 'control' : model.shortShape(n.vertex) || model.opName(n.vertex)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {list.length > most && (
        <button type="button" class="quiet" onClick={() => setMost(most + 100)}>
          {list.length - most} more
        </button>
      )}
    </section>
  );
}

function histogram(
  session: Session,
  vertices: number[],
  column: Uint16Array,
  names: string[],
): [string, number][] {
  const counts = new Map<number, number>();
  for (const v of vertices) {
    for (const op of session.model.opsBelow(v)) counts.set(column[op]!, (counts.get(column[op]!) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([i, n]) => [names[i] || '(none)', n]);
}

function Bars({ title, rows, fromEnd }: { title: string; rows: [string, number][]; fromEnd?: boolean }) {
  const [most, setMost] = useState(8);
  const top = rows[0]?.[1] ?? 1;
  return (
    <section>
      <h3>
        {title} <span class="count">{rows.length}</span>
      </h3>
      <ul class="g-bars">
        {rows.slice(0, most).map(([name, n]) => (
          <li key={name}>
            <span class={fromEnd ? 'g-bar-name g-from-end' : 'g-bar-name'} title={safeText(name)}>
              <bdi>{safeText(name)}</bdi>
            </span>
            <meter min={0} max={top} value={n} aria-hidden="true" />
            <span class="g-bar-count">{count(n)}</span>
          </li>
        ))}
      </ul>
      {rows.length > most && (
        <button type="button" class="quiet" onClick={() => setMost(1000)}>
          {rows.length - most} more
        </button>
      )}
    </section>
  );
}

function GroupCard({ session, group }: { session: Session; group: number }) {
  const { model } = session;
  const template = model.header.templates[model.template[group]!];
  const family = model.header.families[model.family[group]!];
  const facts: [string, preact.ComponentChildren][] = [
    ['Ops', count(model.size[group]!)],
    ['Children', count(model.children(group).length)],
    ...costRows(session, group),
  ];
  return (
    <div class="g-card">
      <Title session={session} item={group} kind={model.isPseudo(group) ? 'Function' : 'Group'} />
      <Actions session={session} item={group} />
      <Facts rows={facts} />
      {model.isPseudo(group) && <Callers session={session} group={group} />}
      {family && <FamilySection session={session} group={group} />}
      {!family && template && template.groups <= 1 && (
        <p class="g-quiet-text">No other group has this structure.</p>
      )}
      <Bars title="Ops" rows={histogram(session, [group], model.op, model.header.strings.ops)} />
      <Bars
        title="Devices"
        fromEnd
        rows={histogram(session, [group], model.device, model.header.strings.devices)}
      />
    </div>
  );
}

/** The ops that call a function of the library. */
function Callers({ session, group }: { session: Session; group: number }) {
  const { model } = session;
  const known = model.header.functions.find((f) => f.group === group);
  if (!known) return null;
  return (
    <Neighbours
      session={session}
      title="Called by"
      list={known.callers.map((vertex) => ({ vertex, port: 0, control: false }))}
    />
  );
}

/** Groups of the same structure, and those that are nearly the same, with how they differ. */
function FamilySection({ session, group }: { session: Session; group: number }) {
  const { model } = session;
  const family = model.header.families[model.family[group]!]!;
  const own = model.template[group]!;
  const [most, setMost] = useState(10);
  const members: number[] = [];
  for (let g = model.root + 1; g < model.total; g++)
    if (model.family[g] === model.family[group]) members.push(g);
  members.sort((a, b) => Number(model.template[b] === own) - Number(model.template[a] === own) || a - b);
  const exact = members.filter((g) => model.template[g] === own).length;
  const near = model.near[group]!;
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
        {exact > 1 ? `${exact} groups are exactly alike` : 'No other group is exactly alike'}
        {members.length > exact ? `, ${members.length - exact} nearly so.` : '.'}
      </p>
      {near > 0 && main !== undefined && (
        <DiffButton
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

interface GroupDiff {
  added: string[];
  removed: string[];
  changed: { name: string; what: string[] }[];
  same: number;
}

const shownDiff = signal<{ a: number; b: number; diff: GroupDiff | null; wrong: string } | null>(null);

function DiffButton({ session, a, b, text }: { session: Session; a: number; b: number; text: string }) {
  const { model } = session;
  const shown = shownDiff.value;
  const open = shown !== null && shown.a === a && shown.b === b;
  const load = async () => {
    if (open) {
      shownDiff.value = null;
      return;
    }
    shownDiff.value = { a, b, diff: null, wrong: '' };
    try {
      const diff = await getJson<GroupDiff>('graph/diff', { a: session.entry.id, group_a: a, group_b: b });
      shownDiff.value = { a, b, diff, wrong: '' };
    } catch (error) {
      shownDiff.value = { a, b, diff: null, wrong: String(error instanceof Error ? error.message : error) };
    }
  };
  const jump = (group: number, name: string) => {
    const path = model.path(group);
    const v = model.find(name.startsWith(path) ? name : path ? `${path}/${name}` : name);
    if (v >= 0) session.goTo(v);
  };
  const list = (title: string, kind: string, rows: { name: string; more: string }[], group: number) =>
    rows.length > 0 && (
      <>
        <h4 class={`g-${kind}`}>
          {title} <span class="count">{rows.length}</span>
        </h4>
        <ul class="g-node-links">
          {rows.slice(0, 60).map((row) => (
            <li key={row.name}>
              <button type="button" class="g-node-link" onClick={() => jump(group, row.name)}>
                <span class="g-node-link-name">
                  <bdi>{safeText(row.name)}</bdi>
                </span>
                <span class="g-node-link-more">{safeText(row.more)}</span>
              </button>
            </li>
          ))}
        </ul>
      </>
    );
  return (
    <div class="g-structural-diff">
      <button type="button" onClick={load} aria-expanded={open}>
        {safeText(text)} {open ? '▴' : '→ diff'}
      </button>
      {open && shown.wrong && <p class="g-quiet-text">{shown.wrong}</p>}
      {open && shown.diff && (
        <div>
          <p class="g-quiet-text">{count(shown.diff.same)} ops are the same in both.</p>
          {list(
            'Only here',
            'added',
            shown.diff.added.map((name) => ({ name, more: '' })),
            b,
          )}
          {list(
            `Only in ${model.labels[a]}`,
            'removed',
            shown.diff.removed.map((name) => ({ name, more: '' })),
            a,
          )}
          {list(
            'Changed',
            'changed',
            shown.diff.changed.map(({ name, what }) => ({ name, more: what.join(', ') })),
            b,
          )}
        </div>
      )}
    </div>
  );
}

function StackCard({ session, item }: { session: Session; item: number }) {
  const { model } = session;
  const series = model.header.series[item - model.total]!;
  const members = model.members[item - model.total]!;
  const [most, setMost] = useState(30);
  return (
    <div class="g-card">
      <Title
        session={session}
        item={item}
        kind={series.chain ? 'Stack, in a chain' : 'Stack, side by side'}
      />
      <Actions session={session} item={item} />
      <Facts
        rows={[
          ['Members', count(members.length)],
          ['Ops', count(members.reduce((sum, m) => sum + model.size[m]!, 0))],
          ['Structure', series.varied ? 'nearly alike' : 'alike'],
        ]}
      />
      <section>
        <h3>Members</h3>
        <ul class="g-node-links">
          {members.slice(0, most).map((m) => (
            <li key={m}>
              <button type="button" class="g-node-link" onClick={() => session.goTo(m)}>
                <span class="g-node-link-name">
                  <bdi>{safeText(model.labels[m]!)}</bdi>
                </span>
                <span class="g-node-link-more">
                  {model.isGroup(m) ? `${count(model.size[m]!)} ops` : model.opName(m)}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {members.length > most && (
          <button type="button" class="quiet" onClick={() => setMost(most + 500)}>
            {members.length - most} more
          </button>
        )}
      </section>
      <Bars title="Ops" rows={histogram(session, members, model.op, model.header.strings.ops)} />
    </div>
  );
}

function GraphCard({ session }: { session: Session }) {
  const { model, entry } = session;
  const functions = model.header.functions ?? [];
  return (
    <div class="g-card">
      <header class="g-card-title">
        <div class="g-card-kind">Graph</div>
        <h2>{safeText(entry.title)}</h2>
      </header>
      <Facts
        rows={[
          ['Ops', count(model.ops)],
          ['Edges', count(model.edgeSrc.length)],
          ['Groups', count(model.total - model.root - 1)],
          ['Templates', count(model.header.templates.filter((t) => t.groups > 1).length)],
          ['Functions', count(functions.length)],
        ]}
      />
      {model.header.problems.length > 0 && (
        <section>
          <h3>Problems</h3>
          <ul class="g-plain">
            {model.header.problems.map((p) => {
              const text = typeof p === 'string' ? p : JSON.stringify(p);
              return <li key={text}>{safeText(text)}</li>;
            })}
          </ul>
        </section>
      )}
      <Bars title="Ops" rows={histogram(session, [model.root], model.op, model.header.strings.ops)} />
      <Bars
        title="Devices"
        fromEnd
        rows={histogram(session, [model.root], model.device, model.header.strings.devices)}
      />
      <section class="g-keys">
        <h3>Keys</h3>
        <p class="g-quiet-text">
          Arrows walk, <kbd>Enter</kbd> opens and closes, <kbd>Esc</kbd> goes out, <kbd>F</kbd> fits,{' '}
          <kbd>/</kbd> searches, <kbd>+</kbd> <kbd>−</kbd> zoom.
        </p>
      </section>
    </div>
  );
}
