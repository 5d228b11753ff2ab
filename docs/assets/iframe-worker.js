// SPDX-License-Identifier: Apache-2.0
// The search of the site runs in a Worker. Browsers refuse Workers to pages that are opened from
// disk, so there it runs in a hidden frame. The theme's own script for this needs a network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.worker = this;
      this.frame.srcdoc = `<script>
        window.postMessage = (data) =>
          frameElement.worker.dispatchEvent(new MessageEvent("message", { data }));
        </script><script src="${new URL(url, location)}"></script>`;
      this.loaded = new Promise((resolve) => this.frame.addEventListener("load", resolve));
      document.documentElement.append(this.frame);
    }

    postMessage(data) {
      const send = () =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded.then(send);
    }
  };
}
