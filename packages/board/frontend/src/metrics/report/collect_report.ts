/** Collects the cards that the page shows now, in their order, into a report. */
import { messageOf } from '../../api/error_message.ts';
import { titleOf } from '../../cards/card_title_bar.tsx';
import { groupBy, groupCenter } from '../../runs/grouping.ts';
import { visibleRuns } from '../../runs/visible_runs.ts';
import { curveSettings } from '../../scalars/curves/scalar_query.ts';
import { selectedSteps, stepsText } from '../../scalars/downloads.ts';
import { smoothing, smoothKind, yScale } from '../../scalars/settings/chart_settings.ts';
import { runs as everyRun, meta } from '../../state/catalogue.ts';
import { runTitle } from '../../state/run_title.ts';
import { stepCursor } from '../../state/selection.ts';
import { exactWallTime } from '../../units/dates.ts';
import { count, counted } from '../../units/numbers.ts';
import { type CardLeaf, CUSTOM, PINNED, runsOf } from '../grid/card_list.ts';
import { kindFilter, shutFolders, tagFilter } from '../grid/grid_address.ts';
import { shownSections } from '../grid/grid_state.ts';
import { KIND_NAMES } from '../grid/kind_names.ts';
import { draft, panelsAt } from '../panels/panel_store.ts';
import { ABOVE } from '../panels/panels.ts';
import { Budget, MOST_CARDS } from './limits.ts';
import type { LeftOut, Report, ReportCard, ReportSection } from './report.ts';
import { reportChart } from './report_chart.ts';
import type { ReportColours } from './report_colours.ts';
import { reportImages, reportTexts } from './report_media.ts';

const MOST_BYTES = { charts: 24e6, images: 24e6, texts: 2e6 };

/** Called with how many cards are there already. */
type OnProgress = (done: number, all: number) => void;

export async function collectReport(
  title: string,
  colours: ReportColours,
  onProgress: OnProgress,
): Promise<Report> {
  const made = exactWallTime(Math.floor(Date.now() / 1000));
  const settings = settingsOfView();
  const { sections: chosen, leftOut } = chosenCards();
  const all = chosen.reduce((sum, section) => sum + section.cards.length, 0);
  const add = cardCollector(colours, leftOut);
  const sections: ReportSection[] = [];
  let done = 0;
  for (const section of chosen) {
    const cards: ReportCard[] = [];
    for (const card of section.cards) {
      const found = await add(card);
      if (found) cards.push(found);
      onProgress(++done, all);
    }
    const { title, panels } = section;
    if (cards.length + panels.length > 0) sections.push({ title, panels, cards });
  }
  const folder = meta.peek()?.logdir ?? '';
  return { title, folder, made, settings, panels: textsAt(ABOVE), sections, leftOut };
}

interface ChosenSection {
  title: string;
  panels: string[];
  cards: CardLeaf[];
}

/** The panels of a place as they are saved, without one that is being written for the first time. */
const textsAt = (place: string): string[] =>
  panelsAt(place).flatMap(({ id, text }) => (draft.peek()?.isNew && draft.peek()?.id === id ? [] : [text]));

/** The cards of open folders, each once, as many as a report holds. */
function chosenCards(): { sections: ChosenSection[]; leftOut: LeftOut[] } {
  const shut = new Set(shutFolders.peek());
  const leftOut: LeftOut[] = [];
  const seen = new Set<string>();
  const sections: ChosenSection[] = [];
  let beyond = 0;
  for (const section of shownSections.peek()) {
    const title =
      section.path === PINNED || section.path === CUSTOM ? section.title : section.path || 'top level';
    if (shut.has(section.path)) {
      leftOut.push({ what: `${title}: ${counted(section.count, 'card')}`, why: 'the folder is closed' });
      continue;
    }
    const cards: CardLeaf[] = [];
    for (const card of section.cards) {
      if (seen.has(card.id)) continue; // pinned: it is in the report already
      if (seen.size === MOST_CARDS) {
        beyond++;
        continue;
      }
      seen.add(card.id);
      cards.push(card);
    }
    sections.push({ title, panels: textsAt(section.path), cards });
  }
  if (beyond > 0) {
    const why = `a report has the first ${count(MOST_CARDS)} cards of the page`;
    leftOut.push({ what: counted(beyond, 'further card'), why });
  }
  return { sections, leftOut };
}

/** A function that makes the report's card of a page's card; null: it is named as left out. */
function cardCollector(
  colours: ReportColours,
  leftOut: LeftOut[],
): (card: CardLeaf) => Promise<ReportCard | null> {
  const full = (what: string) => `the report has no room for more ${what}`;
  const charts = new Budget(MOST_BYTES.charts, full('charts'));
  const images = new Budget(MOST_BYTES.images, full('images'));
  const texts = new Budget(MOST_BYTES.texts, full('texts'));
  let number = 0;
  return async (card) => {
    const title = card.run ? `${titleOf(card)}, ${runTitle(card.run.name)}` : titleOf(card);
    const runs = runsOf(card);
    try {
      if (card.kind === 'scalar') {
        const { content, notes } = await reportChart(card, runs, colours, number++);
        const why = charts.take(content.svg?.length ?? 0);
        if (why !== null) throw new Error(why);
        return { title, notes, content };
      }
      if (card.kind === 'image' || card.kind === 'text') {
        const found = await (card.kind === 'image'
          ? reportImages(card, runs, images)
          : reportTexts(card, runs, texts));
        leftOut.push(...found.leftOut);
        return { title, notes: found.notes, content: found.content };
      }
      throw new Error(`a report has no ${KIND_NAMES[card.kind] ?? card.kind}`);
    } catch (error) {
      leftOut.push({ what: title, why: messageOf(error) });
      return null;
    }
  };
}

/** What the view is set to, where that changes what is shown. */
function settingsOfView(): [string, string][] {
  const { name, log } = curveSettings();
  const steps = selectedSteps();
  const cursor = stepCursor.peek();
  const found: [string, string | null][] = [
    ['runs', `${count(visibleRuns.peek().length)} of ${count(everyRun.peek().length)}`],
    ['x', `${name}${log ? ', logarithmic' : ''}`],
    ['y', yScale.peek()],
    ['smoothing', smoothing.peek() > 0 ? `${smoothKind.peek()}, ${smoothing.peek()}` : null],
    ['groups', groupBy.peek() === '' ? null : `${groupBy.peek()}, ${groupCenter.peek()}`],
    ['steps', steps && stepsText(steps)],
    ['step of images and texts', cursor === null ? null : count(cursor)],
    ['tags', tagFilter.peek().trim() || null],
    ['kind', kindFilter.peek() || null],
  ];
  return found.filter((one): one is [string, string] => one[1] !== null);
}
