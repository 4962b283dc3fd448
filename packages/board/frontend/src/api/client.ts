/** Calls to the server that served the page, and to no other. */
import { type Columns, decodeColumns } from './columns.ts';

export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export type Parameters = Record<string, string | number | boolean | null | undefined>;

/** The address of an API call, relative to the page, so that the board may be mounted anywhere. */
export function apiUrl(path: string, parameters: Parameters = {}): string {
  const url = new URL(`api/v1/${path}`, document.baseURI);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
  }
  return url.href;
}

export async function getJson<T>(path: string, parameters?: Parameters, signal?: AbortSignal): Promise<T> {
  const response = await checked(fetch(apiUrl(path, parameters), { signal: signal ?? null }));
  return (await response.json()) as T;
}

export async function getColumns<H = Record<string, unknown>>(
  path: string,
  parameters?: Parameters,
  signal?: AbortSignal,
): Promise<Columns<H>> {
  const headers = { Accept: 'application/x-board-columns' };
  const response = await checked(fetch(apiUrl(path, parameters), { headers, signal: signal ?? null }));
  return decodeColumns<H>(await response.arrayBuffer());
}

export async function postColumns<H = Record<string, unknown>>(
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<Columns<H>> {
  const response = await checked(send('POST', path, body, signal));
  return decodeColumns<H>(await response.arrayBuffer());
}

/** POST or PUT of a JSON document. */
export async function sendJson<T>(method: 'POST' | 'PUT', path: string, body: unknown): Promise<T> {
  return (await (await checked(send(method, path, body))).json()) as T;
}

/** POST of a file's bytes. */
export async function sendBytes<T>(path: string, parameters: Parameters, bytes: Blob): Promise<T> {
  const headers = { 'Content-Type': 'application/octet-stream', 'X-Board': '1' };
  const response = await checked(fetch(apiUrl(path, parameters), { method: 'POST', headers, body: bytes }));
  return (await response.json()) as T;
}

function send(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', 'X-Board': '1' };
  return fetch(apiUrl(path), { method, headers, body: JSON.stringify(body), signal: signal ?? null });
}

async function checked(pending: Promise<Response>): Promise<Response> {
  const response = await pending;
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try {
    message = ((await response.json()) as { error?: string }).error ?? message;
  } catch {
    // the status is enough
  }
  throw new ApiError(response.status, message);
}
