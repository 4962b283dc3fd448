/** The queries and curves of a scalar card under the present settings of the page. */
import type { Run, Tag } from '../api/types.ts';
import type { Curve, Span } from '../charts/chart_model.ts';
import type { Unit } from '../charts/ticks.ts';
import { assignSlots } from '../runs/colour_slots.ts';
import { styleOf } from '../runs/colours.ts';
import { runValue } from '../runs/visible_runs.ts';
import { tags } from '../state/catalogue.ts';
import { colour } from '../style/theme.ts';
import type { CurveQuery, LoadedCurve } from './curve_loader.ts';
import { groupsOf, type RunGroup } from './run_groups.ts';
import {
  groupBand,
  groupBy,
  groupCenter,
  smoothing,
  smoothKind,
  windowWidth,
  xLog,
  xMode,
  xTag,
  zooms,
} from './view.ts';

/** What decides the curves of a card apart from its runs. */
export interface CurveSettings {
  x: CurveQuery['x'];
  /** Names the kind of x: charts alike share their cross-hair. */
  axis: string;
  unit: Unit;
  name: string;
  log: boolean;
  smooth: CurveQuery['smooth'];
}

export function curveSettings(): CurveSettings {
  const mode = xMode.value;
  const other =
    mode === 'tag' ? tags.value.find((t) => t.kind === 'scalar' && t.name === xTag.value) : undefined;
  const smooth =
    smoothing.value <= 0
      ? null
      : {
          kind: smoothKind.value,
          weight:
            smoothKind.value === 'ema' ? Math.min(0.9999, smoothing.value) : windowWidth(smoothing.value),
        };
  const log = xLog.value && mode !== 'wall';
  if (other)
    return { x: { tag: other.id }, axis: `tag:${other.name}`, unit: 'number', name: other.name, log, smooth };
  if (mode === 'relative')
    return { x: 'relative', axis: 'relative', unit: 'duration', name: 'after', log, smooth };
  if (mode === 'wall') return { x: 'wall', axis: 'wall', unit: 'time', name: 'at', log, smooth };
  return { x: 'step', axis: 'step', unit: 'step', name: 'step', log, smooth };
}

export function groupsOfRuns(runs: Run[]): RunGroup[] | null {
  return groupBy.value === '' ? null : groupsOf(runs, groupBy.value, (run, name) => runValue(run, name));
}

export interface MadeOf {
  tag: Tag;
  right: boolean;
  expression?: { text: string; variables: Record<string, number> };
}

export function queryOf(
  part: MadeOf,
  runs: Run[],
  groups: RunGroup[] | null,
  settings: CurveSettings,
  zoom: Span | null,
  px: number,
): CurveQuery {
  const ids = runs.map((run) => run.id);
  const what = part.expression
    ? { expression: part.expression.text, variables: part.expression.variables, join: 'last' }
    : { tag: part.tag.id };
  return {
    ...what,
    ...(groups ? {} : { runs: ids }),
    x: settings.x,
    x_scale: settings.log ? 'log' : 'linear',
    lo: zoom ? zoom[0] : null,
    hi: zoom ? zoom[1] : null,
    px,
    smooth: settings.smooth,
    group: groups
      ? {
          runs: groups.map((group) => group.runs.map((run) => run.id)),
          center: groupCenter.value,
          band: groupBand.value === 'none' ? 'std' : groupBand.value,
        }
      : null,
    superseded: true,
  };
}

/** What is drawn of a loaded curve: with its name, colour and dash. */
export function dressed(
  loaded: LoadedCurve,
  part: MadeOf,
  index: number,
  groups: RunGroup[] | null,
  nameOf: (run: number) => string,
  /** Of a chart of several tags in one run: the tags' own colours. */
  tagSlot: number | null = null,
): Curve {
  const group = loaded.group === null ? null : groups?.[loaded.group];
  const style = loaded.run === null ? null : styleOf(loaded.run);
  const groupSlot = group && groups ? assignSlots(groups.map((one) => one.title)).get(group.title)! : null;
  const tagDash =
    index === 0
      ? []
      : [
          [5, 3],
          [2, 2],
          [8, 3, 2, 3],
        ][(index - 1) % 3]!;
  const label = group
    ? `${group.title} (${group.runs.length})`
    : loaded.run === null
      ? ''
      : nameOf(loaded.run);
  const withBand = group && groupBand.value !== 'none';
  return {
    id: `${part.tag.id}/${loaded.run ?? `g${loaded.group}`}`,
    label,
    run: loaded.run,
    tag: part.expression ? part.expression.text : part.tag.name,
    colour:
      tagSlot !== null
        ? colour(`run-${tagSlot}`)
        : (style?.colour ?? colour(`run-${groupSlot?.colour ?? 0}`)),
    dash: tagSlot !== null ? [] : index === 0 ? (style?.dash ?? []) : tagDash,
    x: loaded.x,
    y: loaded.y,
    flags: loaded.flags,
    raw: loaded.raw,
    lo: withBand ? loaded.lo : null,
    hi: withBand ? loaded.hi : null,
    right: part.right,
    n: loaded.n,
    drawn: loaded.drawn,
    superseded: loaded.superseded,
  };
}

export interface Zoom {
  x: Span;
  y: Span | null;
}

export function zoomOf(card: string): Zoom | null {
  for (const item of zooms.value) {
    const at = item.lastIndexOf('=');
    if (item.slice(0, at) !== card) continue;
    const ends = item
      .slice(at + 1)
      .split(':')
      .map(Number);
    if (ends.length < 2 || ends.some((v) => !Number.isFinite(v))) return null;
    return { x: [ends[0]!, ends[1]!], y: ends.length >= 4 ? [ends[2]!, ends[3]!] : null };
  }
  return null;
}

const tidy = (value: number, span: number): string =>
  String(
    Number(
      value.toPrecision(Math.min(17, Math.max(6, Math.ceil(Math.log10(Math.abs(value) / span || 1)) + 5))),
    ),
  );

export function setZoom(card: string, zoom: Zoom | null): void {
  const rest = zooms.value.filter((item) => item.slice(0, item.lastIndexOf('=')) !== card);
  if (!zoom) {
    zooms.value = rest;
    return;
  }
  const ends = [...zoom.x.map((v) => tidy(v, zoom.x[1] - zoom.x[0]))];
  if (zoom.y) ends.push(...zoom.y.map((v) => tidy(v, zoom.y![1] - zoom.y![0])));
  zooms.value = [...rest, `${card}=${ends.join(':')}`];
}
