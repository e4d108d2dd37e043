// The picture: an axis, the turns, a lane for each reminder, and the counts below; and how to move in it.

import { axisTop } from "d3-axis";
import { select } from "d3-selection";

import { CHARTS, CHART_PIXELS, drawChart } from "./charts";
import type { Mark, Model } from "./data";
import { describeMark, makeList } from "./details";
import { ROW_PIXELS, drawLane, drawTalk, findNearest, focusRing, type Shape } from "./lanes";
import { TimeScale } from "./scales";
import { count, make, quote, shorten, showInstant, showTick } from "./words";

const SVG = "http://www.w3.org/2000/svg";
const SPARE_ROWS = 4;
const PRINTED_LANES_MAX = 200;
const MEANT_PIXELS = 8;
const AXIS_PIXELS = 26;

interface Batch {
  places: Set<number>;
  first: number;
  last: number;
}

interface Focus {
  lane: number;
  mark: number;
}

export class Timeline {
  private lanes: number[];
  private places: Map<number, number>;
  private focus: Focus | null = null;
  private pending = 0;
  private printing = false;
  private readonly scale: TimeScale;
  private readonly box: HTMLElement;
  private readonly head: HTMLElement;
  private readonly rows: HTMLElement;
  private readonly axis: SVGSVGElement;
  private readonly talk: SVGSVGElement;
  private readonly range: HTMLElement;
  private readonly details: HTMLElement;
  private readonly more: HTMLElement;
  private readonly charts: SVGSVGElement[] = [];
  private readonly tracks = new Map<number, HTMLElement>();

  constructor(
    private readonly model: Model,
    readonly element: HTMLElement,
  ) {
    this.lanes = model.find("");
    this.places = number(this.lanes);
    this.range = make("output", { class: "range" });
    this.axis = makeSvg(AXIS_PIXELS, "axis");
    this.talk = makeSvg(ROW_PIXELS, "track");
    this.head = make("div", { class: "head" }, makeRow("", this.axis), makeRow("turns, words", this.talk));
    this.rows = make("div", { class: "rows" });
    this.box = make("div", {
      class: "box",
      tabindex: "0",
      role: "application",
      "aria-label": `Timeline of ${count(model.laneCount, "reminder")}`,
      "aria-describedby": "keys",
    });
    this.box.append(this.head, this.rows);
    this.more = make("p", { class: "more" });
    this.details = make("div", { class: "details", "aria-live": "polite", "aria-atomic": "true" });
    element.append(this.makeButtons(), this.box, this.more, this.details, ...this.makeCharts());
    this.scale = new TimeScale(this.box, model.session, model.last, () => this.draw());
    this.listen();
    this.tellFocus();
    this.measure();
    this.drawNow();
  }

  /** Show these lanes, and no others. */
  choose(lanes: number[]): void {
    this.lanes = lanes;
    this.places = number(lanes);
    if (this.focus && !this.places.has(this.focus.lane)) this.focus = null;
    this.box.scrollTop = 0;
    this.tellFocus();
    this.draw();
  }

  /** Draw again before the next frame, once. */
  draw(): void {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.drawNow();
    });
  }

  /** Tell again what is told in words: another zone was chosen. */
  retell(): void {
    this.tellFocus();
    this.draw();
  }

  private makeButtons(): HTMLElement {
    const button = (label: string, shown: string, act: () => void) => {
      const made = make("button", { type: "button", "aria-label": label, title: label }, shown);
      made.addEventListener("click", act);
      return made;
    };
    return make(
      "div",
      { class: "buttons" },
      button("Zoom in", "+", () => this.scale.zoomBy(2)),
      button("Zoom out", "−", () => this.scale.zoomBy(0.5)),
      button("Earlier", "◂", () => this.scale.moveBy(-0.5)),
      button("Later", "▸", () => this.scale.moveBy(0.5)),
      button("Show the whole session", "Whole session", () => this.scale.showSession()),
      button("Show what comes, too", "What comes, too", () => this.scale.showAll()),
      this.range,
    );
  }

  private makeCharts(): HTMLElement[] {
    return CHARTS.map((chart) => {
      const limit = this.model.page.limits[chart.limit];
      const svg = makeSvg(CHART_PIXELS, "chart");
      for (const name of ["tripped", "limit", "steps", "found"]) {
        svg.append(select(document.createElementNS(SVG, "path")).attr("class", name).node()!);
      }
      svg.append(select(document.createElementNS(SVG, "g")).attr("class", "axis").node()!);
      this.charts.push(svg);
      const name = make("div", { class: "name" }, make("b", {}, chart.title));
      const off = chart.name === "hour" && Number(limit) <= 0;
      name.append(make("small", {}, off ? "no limit" : `limit ${limit}`), make("small", {}, chart.means));
      return make("div", { class: "row counter" }, name, svg);
    });
  }

  private listen(): void {
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("keydown", (event) => this.press(event));
    this.box.addEventListener("pointermove", (event) => this.point(event));
    this.box.addEventListener("click", (event) => this.point(event));
    new ResizeObserver(() => {
      this.measure();
      this.draw();
    }).observe(this.box);
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  private measure(): void {
    const gutter = this.head.querySelector<HTMLElement>(".name")!.getBoundingClientRect().width;
    this.scale.resize(Math.max(120, Math.floor(this.box.clientWidth - gutter)), gutter);
  }

  private print(printing: boolean): void {
    this.printing = printing;
    this.drawNow();
  }

  private drawNow(): void {
    const { scale } = this;
    for (const svg of [this.axis, this.talk, ...this.charts]) {
      const height = svg.classList.contains("chart")
        ? CHART_PIXELS
        : svg === this.axis
          ? AXIS_PIXELS
          : ROW_PIXELS;
      svg.setAttribute("viewBox", `0 0 ${scale.width} ${height}`);
    }
    const ticks = scale.ticks();
    const axis = axisTop(scale.scale).tickValues(ticks.values).tickSizeOuter(0).tickSizeInner(4);
    axis.tickFormat((at) => showTick(Number(at), ticks.step));
    const group = select(this.axis).selectAll<SVGGElement, null>("g.ticks").data([null]).join("g");
    group.attr("class", "ticks").attr("transform", `translate(0,${AXIS_PIXELS - 2})`).call(axis);
    const [from, to] = scale.scale.domain();
    this.range.textContent = `${showInstant(from)} to ${showInstant(to)}`;
    this.drawShapes(this.talk, drawTalk(this.model, scale), ticks.values);
    this.drawRows(ticks.values);
    CHARTS.forEach((chart, place) => {
      drawChart(this.charts[place], chart, this.model, scale);
    });
  }

  private drawRows(ticks: number[]): void {
    const all = this.lanes.length;
    const shown = this.printing ? Math.min(all, PRINTED_LANES_MAX) : all;
    const top = Math.floor(this.box.scrollTop / ROW_PIXELS) - SPARE_ROWS;
    const many = Math.ceil(this.box.clientHeight / ROW_PIXELS) + 2 * SPARE_ROWS;
    const first = this.printing ? 0 : Math.max(0, top);
    const last = this.printing ? shown : Math.min(all, first + many);
    this.rows.style.paddingTop = `${first * ROW_PIXELS}px`;
    this.rows.style.paddingBottom = `${(shown - last) * ROW_PIXELS}px`;
    const wanted = new Set(this.lanes.slice(first, last));
    for (const [lane, row] of this.tracks) {
      if (wanted.has(lane)) continue;
      row.remove();
      this.tracks.delete(lane);
    }
    const batch = this.findBatch();
    let before: Element | null = null;
    for (const lane of wanted) {
      const row = this.tracks.get(lane) ?? this.makeLane(lane);
      const place: Element | null = before ? before.nextElementSibling : this.rows.firstElementChild;
      if (place !== row) this.rows.insertBefore(row, place);
      before = row;
      this.drawTrack(lane, row, ticks, batch);
    }
    const left = all - shown;
    this.more.textContent = left ? `${count(left, "lane")} left out in print.` : "";
    if (!all) this.more.textContent = "No reminder matches.";
  }

  private makeLane(lane: number): HTMLElement {
    const { page } = this.model;
    const [prompt] = this.model.lastPrompt(lane);
    const label = page.lanes.title[lane] || shorten(prompt, 120);
    const row = makeRow("", makeSvg(ROW_PIXELS, "track"));
    const name = row.querySelector(".name")!;
    name.append(make("b", {}, quote(page.lanes.id[lane])), " ", quote(label));
    row.classList.toggle("inherited", page.lanes.status[lane] === "inherited");
    this.tracks.set(lane, row);
    return row;
  }

  private drawTrack(lane: number, row: HTMLElement, ticks: number[], batch: Batch | null): void {
    const svg = row.querySelector("svg")!;
    svg.setAttribute("viewBox", `0 0 ${this.scale.width} ${ROW_PIXELS}`);
    const shapes = drawLane(this.model, lane, this.scale);
    const focused = this.focusedMark();
    row.classList.toggle("focused", this.focus?.lane === lane);
    if (focused) {
      const x = this.scale.place(focused.at);
      const place = this.places.get(lane)!;
      if (batch && place >= batch.first && place <= batch.last) {
        shapes.unshift({ kind: "batch", path: `M${x},0V${ROW_PIXELS}` });
      }
      if (this.focus!.lane === lane) shapes.push({ kind: "ring", path: focusRing(x) });
      else if (batch?.places.has(place)) shapes.push({ kind: "member", path: focusRing(x) });
    }
    this.drawShapes(svg, shapes, ticks);
  }

  private drawShapes(svg: SVGSVGElement, shapes: Shape[], ticks: number[]): void {
    const grid = ticks.map((at) => `M${this.scale.place(at)},0V${ROW_PIXELS}`).join("");
    const now = this.model.page.session.now;
    const all = [
      { kind: "grid", path: grid },
      { kind: "now", path: `M${this.scale.place(now)},0V${ROW_PIXELS}` },
      ...shapes,
    ];
    select(svg)
      .selectAll<SVGPathElement, Shape>("path")
      .data(all)
      .join("path")
      .attr("class", (shape) => shape.kind)
      .attr("d", (shape) => shape.path);
  }

  private focusedMark(): Mark | null {
    return this.focus && this.model.marksOf(this.focus.lane)[this.focus.mark];
  }

  /** The batch of the focused dispatch: the places of its lanes, and from where to where it reaches. */
  private findBatch(): Batch | null {
    const mark = this.focusedMark();
    const batch = mark?.what === "dispatch" ? this.model.batchOf(mark.ref) : [];
    const places = new Set<number>();
    let [first, last] = [Infinity, -Infinity];
    for (const dispatch of batch) {
      const place = this.places.get(this.model.page.dispatches.lane[dispatch]);
      if (place === undefined) continue;
      places.add(place);
      first = Math.min(first, place);
      last = Math.max(last, place);
    }
    return places.size > 1 ? { places, first, last } : null;
  }

  private point(event: MouseEvent): void {
    const row = (event.target as Element).closest?.(".rows > .row");
    if (!row) return;
    const lane = [...this.tracks].find(([, track]) => track === row)?.[0];
    if (lane === undefined || (event instanceof PointerEvent && event.buttons)) return;
    const at = this.scale.invert(event, this.box);
    const [from, to] = this.scale.scale.domain();
    const meant = (MEANT_PIXELS * (to - from)) / this.scale.width;
    const mark = findNearest(this.model, lane, at, meant);
    if (mark !== null && (this.focus?.lane !== lane || this.focus.mark !== mark)) {
      this.look({ lane, mark });
    }
  }

  private look(focus: Focus): void {
    this.focus = focus;
    this.tellFocus();
    this.draw();
  }

  private press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts: Record<string, () => void> = {
      ArrowDown: () => this.step(1),
      ArrowUp: () => this.step(-1),
      PageDown: () => this.step(10),
      PageUp: () => this.step(-10),
      Home: () => this.step(-Infinity),
      End: () => this.step(Infinity),
      ArrowRight: () => (event.shiftKey ? this.scale.moveBy(0.25) : this.walk(1)),
      ArrowLeft: () => (event.shiftKey ? this.scale.moveBy(-0.25) : this.walk(-1)),
      n: () => this.walk(1, "dispatch"),
      p: () => this.walk(-1, "dispatch"),
      "+": () => this.zoom(2),
      "=": () => this.zoom(2),
      "-": () => this.zoom(0.5),
      "0": () => this.scale.showSession(),
      c: () => this.scale.showAll(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  private zoom(factor: number): void {
    const mark = this.focusedMark();
    this.scale.zoomBy(factor);
    if (mark) this.scale.reveal(mark.at);
  }

  /** To another lane: its mark that stands nearest to where the focus was. */
  private step(lanes: number): void {
    if (!this.lanes.length) return;
    const before = this.focusedMark();
    const from = this.focus ? this.places.get(this.focus.lane)! : -1;
    const place = Math.max(0, Math.min(this.lanes.length - 1, from + lanes));
    const lane = this.lanes[place];
    const mark = before ? findNearest(this.model, lane, before.at, Infinity)! : 0;
    this.look({ lane, mark });
    this.reveal(place);
  }

  /** Along the lane, to the next mark or the next dispatch. */
  private walk(by: 1 | -1, what?: Mark["what"]): void {
    if (!this.focus) {
      this.step(1);
      return;
    }
    const { lane } = this.focus;
    const marks = this.model.marksOf(lane);
    let mark = this.focus.mark + by;
    while (what && mark >= 0 && mark < marks.length && marks[mark].what !== what) mark += by;
    if (mark < 0 || mark >= marks.length) return;
    this.look({ lane, mark });
    this.reveal(this.places.get(lane)!);
  }

  private reveal(place: number): void {
    this.scale.reveal(this.focusedMark()!.at);
    const top = place * ROW_PIXELS;
    const room = this.box.clientHeight - this.head.offsetHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + ROW_PIXELS > this.box.scrollTop + room) {
      this.box.scrollTop = top + ROW_PIXELS - room;
    }
    this.draw();
  }

  private tellFocus(): void {
    const mark = this.focusedMark();
    this.details.replaceChildren(
      mark && this.focus
        ? makeList(describeMark(this.model, this.focus.lane, mark))
        : make("p", {}, "Point at a mark, or walk to it with the arrow keys, and it is described here."),
    );
  }
}

/** The place of each lane among those that are shown. */
function number(lanes: number[]): Map<number, number> {
  return new Map(lanes.map((lane, place) => [lane, place]));
}

function makeSvg(height: number, kind: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", kind);
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("viewBox", `0 0 800 ${height}`);
  return svg;
}

function makeRow(name: string, svg: SVGSVGElement): HTMLElement {
  return make("div", { class: "row" }, make("div", { class: "name" }, name), svg);
}
