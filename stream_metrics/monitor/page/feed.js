// Where views come from: the server's stream of events, with plain requests where the stream fails.
//
// EventSource reconnects by itself, but not after an answer that is no stream (a proxy's 502 while the server restarts),
// and a machine that slept may hold a dead stream for minutes without an error. So once a second it is asked: is the
// stream open, has it spoken lately? If not, /api/snapshot is fetched, which also shows a view where a proxy holds
// streams back. A server may be up while nothing is read any more, or have nothing new to say: /healthz tells which.

const RETRY = 2000; // ms between attempts
const SILENT = 8000; // ms without a view after which the server is asked
const DEAD = 30000; // ms without a view after which the stream is opened again
const HEALTH = 10000; // ms between questions for health
const PATIENCE = 5000; // ms that an answer may take
const VERSION = 1; // of the contract of views

/** Calls `onView(view)` for every new view and `onLink()` whenever what is known of the connection changes. */
export class Feed {
  /** "connecting" at first, "live", "polling" (no stream, but answers), "lost". */
  state = "connecting";
  /** When the connection was lost, in ms, and why. */
  lostAt = null;
  reason = "";
  /** Whether the server says that it no longer reads its source. */
  stuck = false;
  /** The last view and when it arrived, in ms. */
  view = null;
  heardAt = null;

  #source = null;
  #open = false;
  #asking = false;
  #askAt = 0;
  #openAt = 0;
  #healthAt = 0;
  #onView;
  #onLink;

  constructor(onView, onLink) {
    this.#onView = onView;
    this.#onLink = onLink;
  }

  /** Connect, and stay connected. */
  start() {
    this.#connect();
    this.#ask();
    setInterval(() => this.#tick(), 1000);
    document.addEventListener("visibilitychange", () => document.hidden || this.#tick());
    addEventListener("online", () => this.#tick());
  }

  #connect() {
    this.#source?.close();
    this.#open = false;
    this.#openAt = Date.now();
    const source = new EventSource("events");
    this.#source = source;
    source.onopen = () => {
      this.#open = true;
      this.#reached("live");
    };
    source.onmessage = (event) => {
      this.#open = true;
      this.#take(event.data, "live");
    };
    source.onerror = () => {
      this.#open = false;
      this.#askAt = Math.min(this.#askAt, Date.now() + 200);
      this.#ask();
    };
  }

  #tick() {
    const now = Date.now();
    const silence = now - Math.max(this.heardAt ?? 0, this.#openAt);
    const closed = this.#source.readyState === EventSource.CLOSED;
    if ((closed && now - this.#openAt > RETRY) || silence > DEAD) this.#connect();
    if ((!this.#open || silence > SILENT) && now >= this.#askAt) this.#ask();
    if (now >= this.#healthAt) this.#health();
  }

  /** Fetch the view, once at a time. */
  async #ask() {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const answer = await fetch("api/snapshot", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
      if (answer.status === 401) throw new Error("the server wants its token: open the page as /?token=… again");
      if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
      this.#take(await answer.text(), this.#open ? "live" : "polling");
    } catch (error) {
      this.#lost(
        error instanceof TypeError || error.name === "TimeoutError" ? "the server does not answer" : error.message,
      );
    }
    this.#asking = false;
    this.#askAt = Date.now() + RETRY;
  }

  async #health() {
    this.#healthAt = Date.now() + HEALTH;
    try {
      const answer = await fetch("healthz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
      const stuck = answer.status === 503;
      if (stuck !== this.stuck) {
        this.stuck = stuck;
        this.#onLink();
      }
    } catch {
      // The stream and the requests for views tell about connections.
    }
  }

  #take(text, state) {
    let view;
    try {
      view = JSON.parse(text);
    } catch {
      this.#lost("the server sends what is no view");
      return;
    }
    if (view.version !== VERSION) {
      this.#lost("the server has another version than this page: reload it");
      return;
    }
    this.heardAt = Date.now();
    this.#reached(state);
    const last = this.view;
    if (last !== null && last.started === view.started && view.now < last.now) return;
    this.view = view;
    this.#onView(view);
  }

  #reached(state) {
    if (this.state === state) return;
    if (this.state === "lost") this.#healthAt = 0;
    this.state = state;
    this.lostAt = null;
    this.#onLink();
  }

  #lost(reason) {
    if (this.state === "lost" && this.reason === reason) return;
    this.lostAt ??= Date.now();
    this.state = "lost";
    this.reason = reason;
    this.#onLink();
  }
}
