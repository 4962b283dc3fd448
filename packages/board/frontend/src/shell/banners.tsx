/** Messages above the page: no server, unsaved changes, failed workers. */

import { dismiss, messages } from '../browser/messages.ts';
import { Icon } from '../controls/icons.tsx';
import { failure, loaded, renew } from '../state/catalogue.ts';
import { saveAgain, unsaved } from '../storage/saved_document.ts';
import { safeText } from '../strings/safe_text.ts';
import { lostSince } from './lost_server.ts';

const TITLES: Record<string, string> = {
  notes: 'Notes and tags of runs',
  views: 'Saved views',
  colours: 'Colours of runs',
  archived: 'Archived runs',
  layouts: 'Layouts of charts',
};

export function Banners() {
  return (
    <>
      {loaded.value && (lostSince.value !== null || failure.value) && <NoServer />}
      {unsaved.value.map(({ name, state, why }) => (
        <p class="banner" role="alert" key={name}>
          <span>
            {TITLES[name] ?? name} are not saved: {safeText(why, 300)}. They stay on this page
            {state === 'retrying' ? ' and are saved as soon as the server responds.' : ' as you left them.'}
          </span>
          <button type="button" onClick={saveAgain}>
            Try again
          </button>
        </p>
      ))}
      {messages.value.map((text) => (
        <p class="banner" role="alert" key={text}>
          <span>{safeText(text, 400)}</span>
          <button type="button" class="icon" aria-label="Dismiss the message" onClick={() => dismiss(text)}>
            <Icon name="close" />
          </button>
        </p>
      ))}
    </>
  );
}

/** What the page shows is old from here on, and how the server comes back. */
function NoServer() {
  const since = lostSince.value === null ? '' : ` since ${new Date(lostSince.value).toLocaleTimeString()}`;
  const port = location.port && ` --port ${location.port}`;
  return (
    <div class="banner lost-server" role="alert">
      <span>
        <b>The board does not respond{since}.</b> The page shows what it knew then, and tries again every
        second. If its program has ended, start it again: <code>headrace-board --logdir LOGDIR{port}</code>
        {failure.value && <span class="faint"> ({safeText(failure.value, 200)})</span>}
      </span>
      <button type="button" onClick={() => void renew()}>
        Try now
      </button>
    </div>
  );
}
