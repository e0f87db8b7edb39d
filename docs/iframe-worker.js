// SPDX-License-Identifier: Apache-2.0
// Search without a server: browsers give no workers to pages of file:, so one runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve) => {
        const script = frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = () => resolve(inside);
        frame.contentDocument.body.appendChild(script);
      });
    }
    postMessage(data) {
      const send = (inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      this.ready.then(send);
    }
  };
}
