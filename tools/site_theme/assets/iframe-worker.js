// A worker for pages that are opened from a folder, where browsers start none: the script of the
// search runs in a hidden frame instead. Served by a server, pages have real workers.
//
// As much of a worker as the search needs: messages both ways, and an end.

class FrameWorker {
  onmessage = null;
  onerror = null;
  onmessageerror = null;
  #frame = document.createElement("iframe");
  #started;

  constructor(address) {
    this.#frame.hidden = true;
    document.body.append(this.#frame);
    const { contentWindow, contentDocument } = this.#frame;
    contentWindow.postMessage = (data) => this.#tell(data);
    const script = contentDocument.createElement("script");
    script.src = new URL(address, location.href);
    this.#started = new Promise((resolve) => { script.onload = resolve; });
    script.onerror = (event) => this.onerror?.(event);
    contentDocument.head.append(script);
  }

  postMessage(data) {
    const copy = structuredClone(data);
    this.#started.then(() => this.#frame.contentWindow?.onmessage?.({ data: copy }));
  }

  terminate() {
    this.#frame.remove();
  }

  #tell(data) {
    queueMicrotask(() => this.onmessage?.({ data }));
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
