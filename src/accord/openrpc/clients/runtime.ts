/** An error that the server answered with. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(message: string, code: number, data?: unknown) {
    super(message);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}

/** The server answered, and not as JSON-RPC 2.0 says. */
export class InvalidResponseError extends Error {
  /** The status of the HTTP response, if it is the reason. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.name = "InvalidResponseError";
    this.status = status;
  }
}

/** Settings of one call. In a batch those of the batch hold for all its calls. */
export interface CallOptions {
  /** Gives the call up when it is aborted. */
  signal?: AbortSignal;
  /** Milliseconds after which the call is given up; null for never. */
  timeout?: number | null;
  /** Further HTTP headers. */
  headers?: Readonly<Record<string, string>>;
}

/** Takes a message to the server; gives its answer, which is empty for notifications. */
export type Transport = (
  message: string,
  options: { signal: AbortSignal; headers: Readonly<Record<string, string>> },
) => Promise<string>;

/** Settings of a client. */
export interface ClientOptions {
  /** Where to post messages to. */
  url?: string;
  /** HTTP headers of every message, as `Authorization`. */
  headers?: Readonly<Record<string, string>>;
  /** Milliseconds after which calls are given up; null for never, 30,000 unless given. */
  timeout?: number | null;
  /** What to use instead of the global `fetch`. */
  fetch?: typeof fetch;
  /** How to send messages, if not by HTTP. */
  transport?: Transport;
}

/** What became of each call of a batch. */
export type Outcomes<T extends readonly unknown[]> = {
  -readonly [K in keyof T]: PromiseSettledResult<Awaited<T[K]>>;
};

type Message = { jsonrpc: "2.0"; id?: number; method: string; params?: unknown };

/** Sends each call by itself, and batches. */
class DirectCaller {
  readonly #transport: Transport;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeout: number | null;
  #lastId = 0;

  constructor(options: ClientOptions, defaultUrl: string) {
    this.#transport =
      options.transport ?? httpTransport(options.url ?? defaultUrl, options.fetch);
    this.#headers = options.headers ?? {};
    this.#timeout = options.timeout === undefined ? 30_000 : options.timeout;
  }

  async call<T>(method: string, params?: unknown, options?: CallOptions): Promise<T> {
    const message = this.request(method, params);
    const answer = answers(await this.send(message, options));
    const found = answer.get(message.id) ?? answer.get(null);
    if (found === undefined) {
      throw new InvalidResponseError(`the call of ${method} was not answered`);
    }
    return resultOf(found) as T;
  }

  async notify(method: string, params?: unknown, options?: CallOptions): Promise<void> {
    await this.send(notification(method, params), options);
  }

  request(method: string, params?: unknown): Message & { id: number } {
    this.#lastId += 1;
    return { jsonrpc: "2.0", id: this.#lastId, method, ...withParams(params) };
  }

  async send(message: Message | readonly Message[], options: CallOptions = {}): Promise<string> {
    const timeout = options.timeout === undefined ? this.#timeout : options.timeout;
    const signals = options.signal === undefined ? [] : [options.signal];
    if (timeout !== null) {
      signals.push(AbortSignal.timeout(timeout));
    }
    const signal = AbortSignal.any(signals);
    const headers = { ...this.#headers, ...options.headers };
    return this.#transport(JSON.stringify(message), { signal, headers });
  }
}

/** Collects calls that leave together. */
class BatchCaller {
  readonly #direct: DirectCaller;
  readonly #messages: Message[] = [];
  readonly #waiting = new Map<
    number,
    { method: string; resolve: (result: unknown) => void; reject: (error: unknown) => void }
  >();

  constructor(caller: DirectCaller | BatchCaller) {
    if (caller instanceof BatchCaller) {
      throw new TypeError("a batch cannot be in a batch");
    }
    this.#direct = caller;
  }

  call<T>(method: string, params?: unknown, _options?: CallOptions): Promise<T> {
    const message = this.#direct.request(method, params);
    this.#messages.push(message);
    const result = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(message.id, { method, resolve, reject });
    });
    result.catch(() => undefined); // whoever awaits it hears of the error
    return result as Promise<T>;
  }

  notify(method: string, params?: unknown, _options?: CallOptions): Promise<void> {
    this.#messages.push(notification(method, params));
    return Promise.resolve();
  }

  async send(options?: CallOptions): Promise<void> {
    if (this.#messages.length === 0) {
      return;
    }
    try {
      const found = answers(await this.#direct.send(this.#messages, options));
      for (const [id, call] of this.#waiting) {
        const answer = found.get(id) ?? found.get(null);
        try {
          if (answer === undefined) {
            throw new InvalidResponseError(`the call of ${call.method} was not answered`);
          }
          call.resolve(resultOf(answer));
        } catch (error) {
          call.reject(error);
        }
      }
    } catch (error) {
      for (const call of this.#waiting.values()) {
        call.reject(error);
      }
    }
  }
}

function httpTransport(url: string, fetcher: typeof fetch = fetch): Transport {
  if (url === "") {
    throw new TypeError("the client needs a url: the document names no server");
  }
  return async (message, { signal, headers }) => {
    const response = await fetcher(url, {
      method: "POST",
      headers: { Accept: "application/json", "Content-Type": "application/json", ...headers },
      body: message,
      signal,
    });
    const text = await response.text();
    if (!response.ok && !text.trimStart().startsWith("{")) {
      throw new InvalidResponseError(`the server answered ${response.status}`, response.status);
    }
    return text;
  };
}

/** Params by position, without those left out at the end. */
export function positional(params: readonly unknown[]): unknown[] {
  let given = params.length;
  while (given > 0 && params[given - 1] === undefined) {
    given -= 1;
  }
  const missing = params.slice(0, given).indexOf(undefined);
  if (missing !== -1) {
    throw new TypeError(
      `parameter ${missing + 1} is left out, and goes by position: those after it cannot be ` +
        "given without it",
    );
  }
  return params.slice(0, given);
}

/** Params by name, with those that stand together under `name` in their places. */
export function spread(params: object | undefined, name: string): Record<string, unknown> {
  const { [name]: further, ...others } = (params ?? {}) as Record<string, unknown>;
  return { ...(further as object | undefined), ...others };
}

function notification(method: string, params?: unknown): Message {
  return { jsonrpc: "2.0", method, ...withParams(params) };
}

function withParams(params: unknown): { params?: unknown } {
  return params === undefined ? {} : { params };
}

/** The answers in a text, by id. */
function answers(text: string): Map<unknown, Record<string, unknown>> {
  const found = new Map<unknown, Record<string, unknown>>();
  let parsed: unknown;
  try {
    parsed = text.trim() === "" ? [] : JSON.parse(text);
  } catch {
    throw new InvalidResponseError("the answer is not JSON");
  }
  for (const answer of Array.isArray(parsed) ? (parsed as unknown[]) : [parsed]) {
    if (typeof answer === "object" && answer !== null && "id" in answer) {
      found.set(answer.id, { ...answer });
    }
  }
  return found;
}

function resultOf(answer: Record<string, unknown>): unknown {
  const error = answer["error"];
  if (typeof error === "object" && error !== null && "code" in error) {
    const message = "message" in error ? String(error.message) : "";
    throw new RpcError(message, Number(error.code), "data" in error ? error.data : undefined);
  }
  if (!("result" in answer)) {
    throw new InvalidResponseError("the answer has neither a result nor an error");
  }
  return answer["result"];
}
