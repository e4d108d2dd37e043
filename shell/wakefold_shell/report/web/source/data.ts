// What the page holds, as `report/columns.py` arranges it, and the indexes that looking needs.
// Nothing here counts what a command prints: it finds, and puts in order.

export interface StepLine {
  at: number[];
  counts: number[];
}

export type CounterName = "streak" | "hour" | "day";

export interface Finding {
  seq: number;
  at: string;
  kind: "refused" | "stopped" | "prevented";
  id?: string;
  code?: string;
  reason?: string;
  deleted?: string[];
  told?: boolean;
  limit?: string;
}

export interface ActiveView {
  id: string;
  kind: string;
  state: string;
  scheduledAt: string;
  deliveryNotBefore?: string;
  heldUntil?: string;
  snoozedUntil?: string;
  revision?: number;
  runs?: number;
}

export interface Page {
  session: {
    id: string;
    createdAt: number;
    timeZone: string | null;
    seedLength: number;
    now: number;
    events: number;
    first: number | null;
    last: number | null;
    warnings: string[];
  };
  active: ActiveView[];
  nextWake: string | null;
  wakeups: Record<string, number>;
  audit: {
    findings: Finding[];
    wakeups: number;
    longestStreak: number;
    busiestHour: number;
    busiestDay: number;
    prevented: number;
    preventedBy: Record<string, number>;
  };
  limits: Record<string, unknown>;
  lateMs: number;
  endings: Record<string, string>;
  lanes: {
    id: string[];
    title: string[];
    kind: string[];
    rule: string[];
    status: string[];
    seq: number[];
    created: number[];
    prompts: [number, number][][];
  };
  dispatches: {
    lane: number[];
    seq: number[];
    at: number[];
    lateMs: number[];
    delivery: string[];
    batch: number[];
    more: Record<string, { failure?: string; offers?: number; againAt?: string; durationMs?: number }>;
  };
  changes: [number, number, number, string, number | null, string][];
  counters: Record<CounterName, StepLine>;
  turns: [number, number, number | null, string | null][];
  words: [number, number, string][];
  upcoming: [number, number, number][];
  texts: [string, number][];
}

/** One thing that happened in a lane; `ref` is its place in its own table, -1 for the create. */
export interface Mark {
  at: number;
  what: "created" | "dispatch" | "change" | "next";
  ref: number;
}

/** What share of a session's own length the instant looked from may lie behind it, and be shown. */
const NEAR = 0.5;

export class Model {
  readonly laneCount: number;
  readonly laneSeq: number[];
  readonly created: number[];
  readonly at: number[];
  readonly seq: number[];
  readonly lines: Record<CounterName, StepLine>;
  /** By lane: its dispatches, in the order of time. */
  readonly dispatchesOf: number[][];
  readonly changesOf: number[][];
  readonly upcomingOf: Map<number, number[]>;
  readonly findingOf: Map<number, Finding>;
  /** From the first event to the last one: to the instant looked from, if that is not far off. */
  readonly session: [number, number];
  readonly last: number;
  private readonly marks = new Map<number, Mark[]>();
  private readonly ends = new Map<number, { at: number; ended: boolean }>();
  private readonly members = new Map<number, number[]>();
  private readonly needles: string[];

  constructor(readonly page: Page) {
    const { lanes, dispatches, changes, session } = page;
    this.laneCount = lanes.id.length;
    this.laneSeq = addUp(lanes.seq);
    this.created = addUp(lanes.created);
    this.at = addUp(dispatches.at);
    this.seq = addUp(dispatches.seq);
    this.lines = {
      streak: { at: addUp(page.counters.streak.at), counts: page.counters.streak.counts },
      hour: { at: addUp(page.counters.hour.at), counts: page.counters.hour.counts },
      day: { at: addUp(page.counters.day.at), counts: page.counters.day.counts },
    };
    this.dispatchesOf = lanes.id.map(() => []);
    dispatches.lane.forEach((lane, place) => this.dispatchesOf[lane].push(place));
    for (const places of this.dispatchesOf) places.sort((a, b) => this.at[a] - this.at[b]);
    dispatches.batch.forEach((batch, place) => {
      if (batch < 0) return;
      const found = this.members.get(batch);
      if (found) found.push(place);
      else this.members.set(batch, [place]);
    });
    this.changesOf = lanes.id.map(() => []);
    changes.forEach(([lane], place) => this.changesOf[lane].push(place));
    this.upcomingOf = new Map();
    page.upcoming.forEach(([lane], place) => {
      this.upcomingOf.set(lane, [...(this.upcomingOf.get(lane) ?? []), place]);
    });
    this.findingOf = new Map(page.audit.findings.map((finding) => [finding.seq, finding]));
    const first = session.first ?? session.now;
    const last = Math.max(session.last ?? session.now, first + 1000);
    const near = session.now - last < NEAR * (last - first);
    this.session = [first, near ? Math.max(last, session.now) : last];
    this.last = Math.max(last, session.now, ...page.upcoming.map((next) => next[2]));
    this.needles = lanes.id.map((id, lane) => {
      const prompts = lanes.prompts[lane].map(([, text]) => page.texts[text][0]);
      return [id, lanes.title[lane], ...prompts].join("\n").toLowerCase();
    });
  }

  /** The lanes whose id, title or prompt holds a text; all of them for none. */
  find(text: string): number[] {
    const needle = text.trim().toLowerCase();
    const all = this.needles.map((_, lane) => lane);
    return needle ? all.filter((lane) => this.needles[lane].includes(needle)) : all;
  }

  /** Everything in a lane, in the order of time. */
  marksOf(lane: number): Mark[] {
    const known = this.marks.get(lane);
    if (known) return known;
    const marks: Mark[] = [{ at: this.created[lane], what: "created", ref: -1 }];
    for (const ref of this.dispatchesOf[lane]) marks.push({ at: this.at[ref], what: "dispatch", ref });
    for (const ref of this.changesOf[lane]) {
      marks.push({ at: this.page.changes[ref][2], what: "change", ref });
    }
    for (const ref of this.upcomingOf.get(lane) ?? []) {
      marks.push({ at: this.page.upcoming[ref][2], what: "next", ref });
    }
    marks.sort((a, b) => a.at - b.at);
    this.marks.set(lane, marks);
    return marks;
  }

  /** The prompt of a lane as it was at a place of the log, and how long it is. */
  promptAt(lane: number, seq: number): [string, number] {
    const prompts = this.page.lanes.prompts[lane];
    const found = prompts.findLast(([from]) => from <= seq) ?? prompts[0];
    return this.page.texts[found[1]];
  }

  lastPrompt(lane: number): [string, number] {
    return this.promptAt(lane, Infinity);
  }

  occurrence(place: number): number {
    return this.at[place] - this.page.dispatches.lateMs[place];
  }

  /** All dispatches of the batch that one belongs to, itself too; none for a one-shot. */
  batchOf(place: number): number[] {
    return this.members.get(this.page.dispatches.batch[place]) ?? [];
  }

  /** Where a life ends on the page: at its end, else where the page looks from. */
  endOf(lane: number): { at: number; ended: boolean } {
    const known = this.ends.get(lane);
    if (known) return known;
    const end = this.findEnd(lane);
    this.ends.set(lane, end);
    return end;
  }

  private findEnd(lane: number): { at: number; ended: boolean } {
    const status = this.page.lanes.status[lane];
    const ended = status in this.page.endings;
    const happened = this.marksOf(lane).filter((mark) => mark.what !== "next");
    const last = happened[happened.length - 1].at;
    if (ended || status === "inherited") return { at: last, ended };
    return { at: Math.max(last, this.page.session.now), ended: false };
  }

  count(name: CounterName, at: number): number {
    const place = placeAfter(this.lines[name].at, itself, at) - 1;
    return place < 0 ? 0 : this.lines[name].counts[place];
  }
}

/** Of things in a rising order, how many stand no higher than `value`. */
export function placeAfter<T>(things: T[], read: (thing: T) => number, value: number): number {
  let low = 0;
  let high = things.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (read(things[middle]) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A number is its own place. */
export const itself = (number: number): number => number;

function addUp(differences: number[]): number[] {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}

/** What the page holds: compressed JSON in base64, in an element that is never run. */
export async function readPage(element: Element): Promise<Page> {
  const packed = Uint8Array.from(atob(element.textContent ?? ""), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return (await new Response(stream).json()) as Page;
}
