// The marks of one lane at one zoom, as a few paths: which marks fall on one pixel is decided here.

import { placeAfter, type Model } from "./data";
import type { TimeScale } from "./scales";

export const ROW_PIXELS = 30;
const MIDDLE = ROW_PIXELS / 2;
const BIN_PIXELS = 5;

export interface Shape {
  kind: string;
  path: string;
}

/** The paths of a lane, the lowest first. */
export function drawLane(model: Model, lane: number, scale: TimeScale): Shape[] {
  const { page } = model;
  const shapes: Shape[] = [];
  const put = (kind: string, path: string) => path && shapes.push({ kind, path });
  const end = model.endOf(lane);
  const start = model.created[lane];
  put("life", drawSpan(scale, start, end.at));
  put("paused", drawPauses(model, lane, scale, end.at));
  const dispatches = drawDispatches(model, lane, scale);
  put("whisker", dispatches.whiskers);
  put("dispatch", dispatches.bins);
  put("late", dispatches.late);
  put("failed", dispatches.failed);
  if (isSeen(scale, start)) put("created", ring(scale.place(start)));
  const marks: Record<string, string> = { skipped: "", deleted: "", edited: "" };
  for (const ref of model.changesOf[lane]) {
    const [, , at, what] = page.changes[ref];
    if (!isSeen(scale, at)) continue;
    const x = scale.place(at);
    if (what === "skipped") marks.skipped += triangle(x, 1);
    else if (what === "deleted") marks.deleted += cross(x);
    else marks.edited += square(x);
  }
  for (const [kind, path] of Object.entries(marks)) put(kind, path);
  if (end.ended && page.lanes.status[lane] !== "deleted" && isSeen(scale, end.at)) {
    put("ended", `M${scale.place(end.at)},${MIDDLE - 9}v18`);
  }
  const coming = (model.upcomingOf.get(lane) ?? []).map((ref) => page.upcoming[ref][2]);
  put("next", coming.filter((at) => isSeen(scale, at)).map((at) => diamond(scale.place(at))).join(""));
  if (coming.length && scale.scale(coming[0]) > scale.width) {
    put("next", `M${scale.width - 9},${MIDDLE - 5}l7,5l-7,5z`);
  }
  return shapes;
}

/** The mark of a lane that stands nearest to an instant, if it is near enough to be meant. */
export function findNearest(model: Model, lane: number, at: number, withinMs: number): number | null {
  const marks = model.marksOf(lane);
  let best: number | null = null;
  const from = placeAfter(marks, (mark) => mark.at, at);
  for (const place of [from - 1, from]) {
    if (place < 0 || place >= marks.length) continue;
    const away = Math.abs(marks[place].at - at);
    if (away <= withinMs && (best === null || away < Math.abs(marks[best].at - at))) best = place;
  }
  return best;
}

interface Dispatches {
  whiskers: string;
  bins: string;
  late: string;
  failed: string;
}

/** Dispatches by bins of a few pixels: a tick for one, a bar for many, its lower share the late ones. */
function drawDispatches(model: Model, lane: number, scale: TimeScale): Dispatches {
  const drawn: Dispatches = { whiskers: "", bins: "", late: "", failed: "" };
  const places = model.dispatchesOf[lane];
  const { lateMs, delivery } = model.page.dispatches;
  const [from, to] = scale.scale.domain();
  const perMs = scale.width / (to - from);
  const xOf = (dispatch: number) => (model.at[dispatch] - from) * perMs;
  let place = placeAfter(places, (dispatch) => model.at[dispatch], from - 1);
  while (place < places.length && model.at[places[place]] <= to) {
    const first = places[place];
    const x = xOf(first);
    const bin = Math.floor(x / BIN_PIXELS);
    let many = 0;
    let late = 0;
    let failed = 0;
    for (; place < places.length; place += 1) {
      const dispatch = places[place];
      if (Math.floor(xOf(dispatch) / BIN_PIXELS) !== bin) break;
      many += 1;
      if (lateMs[dispatch] >= model.page.lateMs) late += 1;
      if (delivery[dispatch] === "failed") failed += 1;
    }
    const left = many === 1 ? x - 1 : bin * BIN_PIXELS;
    const width = many === 1 ? 2.5 : BIN_PIXELS - 1;
    const half = Math.min(MIDDLE - 2, 7 + Math.log2(many));
    const low = (2 * half * late) / many;
    drawn.bins += rectangle(left, MIDDLE - half, width, 2 * half - low);
    if (late) drawn.late += rectangle(left, MIDDLE + half - low, width, low);
    if (late && many === 1) {
      const since = scale.place(model.occurrence(first));
      drawn.whiskers += `M${since},${MIDDLE - 5}v10M${since},${MIDDLE}H${x}`;
    }
    if (failed) drawn.failed += `M${x - 4},0h8l-4,6z`;
  }
  return drawn;
}

function drawPauses(model: Model, lane: number, scale: TimeScale, end: number): string {
  let path = "";
  let since: number | null = null;
  for (const ref of model.changesOf[lane]) {
    const [, , at, what] = model.page.changes[ref];
    if (what === "paused") since = at;
    else if (since !== null && (what === "resumed" || what === "deleted")) {
      path += drawSpan(scale, since, at);
      since = null;
    }
  }
  return since === null ? path : path + drawSpan(scale, since, end);
}

function drawSpan(scale: TimeScale, from: number, to: number): string {
  const [left, right] = [scale.place(from), scale.place(to)];
  return right > left ? `M${left},${MIDDLE}H${right}` : "";
}

function isSeen(scale: TimeScale, at: number): boolean {
  const x = scale.scale(at);
  return x > -10 && x < scale.width + 10;
}

function rectangle(x: number, y: number, width: number, height: number): string {
  return height > 0 ? `M${x},${y}h${width}v${height}h${-width}z` : "";
}

function ring(x: number): string {
  return `M${x - 4.5},${MIDDLE}a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z`;
}

export function focusRing(x: number): string {
  return `M${x - 8},${MIDDLE - 13}h16v26h-16z`;
}

function cross(x: number): string {
  return `M${x - 5},${MIDDLE - 5}l10,10M${x + 5},${MIDDLE - 5}l-10,10`;
}

function square(x: number): string {
  return `M${x - 4},${MIDDLE - 4}h8v8h-8z`;
}

function diamond(x: number): string {
  return `M${x},${MIDDLE - 6}l6,6l-6,6l-6,-6z`;
}

function triangle(x: number, down: 1 | -1): string {
  return `M${x - 5},${MIDDLE - 5 * down}h10l-5,${10 * down}z`;
}

/** The turns and words of the session: bars, and triangles that stand up. */
export function drawTalk(model: Model, scale: TimeScale): Shape[] {
  const [from, to] = scale.scale.domain();
  let turns = "";
  let end = -Infinity;
  for (const [, start, last] of model.page.turns) {
    const until = last ?? model.last;
    if (until < from || start > to) continue;
    const left = scale.place(start);
    const right = Math.max(scale.place(until), left + 1.5);
    if (right <= end) continue;
    turns += rectangle(Math.max(left, end), MIDDLE - 4, right - Math.max(left, end), 8);
    end = right;
  }
  let words = "";
  let before = -Infinity;
  for (const [, at] of model.page.words) {
    const x = scale.scale(at);
    if (!isSeen(scale, at) || Math.abs(x - before) < 2) continue;
    words += `M${x - 5},${MIDDLE + 13}h10l-5,-9z`;
    before = x;
  }
  return [
    { kind: "turn", path: turns },
    { kind: "word", path: words },
  ];
}
