/** Limits an error to one part of the page, and shows its message. */
import { Component, type ComponentChildren } from 'preact';
import { messageOf } from '../api/error_message.ts';
import { safeText } from '../strings/safe_text.ts';

interface Props {
  /** The name of the part: "The card of loss". */
  what: string;
  children: ComponentChildren;
}

export class ErrorBoundary extends Component<Props, { error: string | null }> {
  override state = { error: null };

  static override getDerivedStateFromError(error: unknown) {
    return { error: messageOf(error) };
  }

  override componentDidCatch(error: unknown) {
    console.error(error);
  }

  override render({ what, children }: Props, { error }: { error: string | null }) {
    if (error === null) return children;
    return (
      <div class="notice" role="alert">
        <h2>{safeText(what, 120)} could not be shown</h2>
        <p>{safeText(error, 400)}</p>
        <p>
          <button type="button" onClick={() => this.setState({ error: null })}>
            Try again
          </button>
        </p>
      </div>
    );
  }
}
