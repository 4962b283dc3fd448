/** Saves the present view as one HTML file. */
import { messageOf } from '../../api/error_message.ts';
import { dismiss, showMessage } from '../../browser/messages.ts';
import { download } from '../../picture/download.ts';
import { meta } from '../../state/catalogue.ts';
import { localDay } from '../../units/dates.ts';
import { collectReport } from './collect_report.ts';
import { reportColours } from './report_colours.ts';
import { reportHtml } from './report_html.ts';

/** Cards between two messages. */
const PROGRESS_EVERY = 20;

let busy = false;

export async function saveReport(): Promise<void> {
  if (busy) return;
  const name = meta.peek()?.logdir ?? '';
  const title = prompt('Title of the report', name)?.trim();
  if (title === undefined) return; // cancelled
  busy = true;
  let message = '';
  const show = (text: string) => {
    dismiss(message);
    message = text;
    if (text !== '') showMessage(text);
  };
  try {
    show('The report is being made');
    const colours = reportColours();
    const report = await collectReport(title || name, colours, (done, all) => {
      if (done % PROGRESS_EVERY === 0) show(`The report is being made: ${done} of ${all} cards`);
    });
    const day = localDay(Date.now() / 1000);
    download(`${report.title} ${day}.html`, reportHtml(report, colours.css), 'text/html');
    show('');
  } catch (error) {
    show(`The report is not saved: ${messageOf(error)}`);
  } finally {
    busy = false;
  }
}
