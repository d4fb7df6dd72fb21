// Browsers refuse workers for pages of a folder (file://). There, the worker of the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.queue = []
      const inner = frame.contentWindow
      inner.document.open()
      inner.document.write("<!doctype html><script></" + "script>")
      inner.document.close()
      inner.importScripts = (...urls) => Promise.all(urls.map(each => this.load(inner, new URL(each, url))))
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inner = inner
      this.load(inner, url).then(() => {
        this.queue.forEach(data => this.deliver(data))
        this.queue = null
      })
    }

    load(inner, url) {
      return new Promise((resolve, reject) => {
        const script = inner.document.createElement("script")
        script.src = url
        script.onload = resolve
        script.onerror = reject
        inner.document.body.append(script)
      })
    }

    deliver(data) {
      this.inner.dispatchEvent(new MessageEvent("message", { data }))
    }

    postMessage(data) {
      this.queue ? this.queue.push(data) : this.deliver(data)
    }

    terminate() {
      this.inner.frameElement.remove()
    }
  }
}
