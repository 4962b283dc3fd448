/** Messages above the page: no server, unsaved changes, failed workers. */

import { dismiss, messages } from '../browser/messages.ts';
import { Icon } from '../controls/icons.tsx';
import { failure, loaded } from '../state/catalogue.ts';
import { saveAgain, unsaved } from '../storage/saved_document.ts';
import { safeText } from '../strings/safe_text.ts';

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
      {failure.value && loaded.value && (
        <p class="banner" role="alert">
          The server does not respond; the page shows the last known state. {safeText(failure.value)}
        </p>
      )}
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
