/** What went wrong, as it is shown: whatever was thrown, by the server, the network or a worker. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
