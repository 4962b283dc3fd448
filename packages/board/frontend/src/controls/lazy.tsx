/** Components whose code is fetched when they are first shown. */
import type { ComponentChild, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../api/error_message.ts';
import { safeText } from '../strings/safe_text.ts';

/**
 * A component whose code is loaded later. If loading fails, as after an upgrade of the server while the page is
 * open, it shows a message and offers to reload the page: a browser does not load a failed module again.
 */
export function lazy<P extends object>(
  load: () => Promise<{ default: ComponentType<P> }>,
  what: string,
  meanwhile: ComponentChild = null,
): ComponentType<P> {
  let Loaded: ComponentType<P> | null = null;
  let pending: Promise<void> | null = null;

  function fetched(): Promise<void> {
    pending ??= load().then((module) => {
      Loaded = module.default;
    });
    return pending;
  }

  return function Lazy(props: P) {
    const [failure, setFailure] = useState<string | null>(null);
    const [, show] = useState(false);
    useEffect(() => {
      if (Loaded) return;
      let here = true;
      fetched().then(
        () => here && show(true),
        (error) => here && setFailure(messageOf(error)),
      );
      return () => {
        here = false;
      };
    }, []);
    if (Loaded) return <Loaded {...props} />;
    if (failure === null) return meanwhile;
    return (
      <div class="notice" role="alert">
        <h2>The code of {what} could not be loaded</h2>
        <p>
          The server did not respond, or was upgraded while this page was open. Reload the page; the view
          stays.
        </p>
        <p class="faint">{safeText(failure, 300)}</p>
        <p class="buttons">
          <button type="button" class="primary" onClick={() => location.reload()}>
            Reload the page
          </button>
        </p>
      </div>
    );
  };
}
