// Pages that are opened from the disk may not start workers, and the theme searches in one. Here a hidden frame
// takes its place: it loads the worker's script, and messages go to and fro. The theme asks for the name.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      this.frame.srcdoc = `<!doctype html><script src="${new URL(address, location).href}"></script>`;
      this.frame.addEventListener("load", () => this.start(this.frame.contentWindow), { once: true });
      document.body.append(this.frame);
    }

    start(inside) {
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...addresses) => {
        for (const address of addresses) {
          await new Promise((done, failed) => {
            const script = inside.document.createElement("script");
            Object.assign(script, { src: address, onload: done, onerror: failed });
            inside.document.head.append(script);
          });
        }
      };
      this.inside = inside;
      this.waiting.splice(0).forEach((data) => this.postMessage(data));
    }

    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
