/** Copies text to the clipboard, also in browsers that deny the clipboard to pages over plain http. */

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch {
    // no such object, or not allowed
  }
  if (!copiedByCommand(text))
    prompt('The browser does not allow the page to copy; copy the text from here', text);
}

function copiedByCommand(text: string): boolean {
  const focused = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'clipboard-field';
  document.body.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return done;
}
