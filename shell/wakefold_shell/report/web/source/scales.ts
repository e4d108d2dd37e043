// The time that is looked at: one scale for everything that stands under the axis, zoomed and moved.

import { scaleLinear, scaleUtc, type ScaleLinear } from "d3-scale";
import { select, type Selection } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";

import { findOffset } from "./words";

const NARROWEST_MS = 20;
const TICK_PIXELS = 110;

export interface Ticks {
  values: number[];
  step: number;
}

export class TimeScale {
  scale: ScaleLinear<number, number>;
  width = 800;
  private base: ScaleLinear<number, number>;
  private readonly session: [number, number];
  private readonly behaviour: ZoomBehavior<HTMLElement, unknown>;
  private readonly box: Selection<HTMLElement, unknown, null, undefined>;
  private gutter = 0;

  /** From the first event to the last, and beyond it to what comes, which may be far. */
  constructor(box: HTMLElement, [first, last]: [number, number], end: number, changed: () => void) {
    this.session = widen(first, last);
    this.base = scaleLinear(widen(first, end), [0, this.width]);
    this.scale = this.base.copy().domain(this.session);
    this.box = select(box);
    this.behaviour = zoom<HTMLElement, unknown>()
      .scaleExtent([1, Math.max((end - first) / NARROWEST_MS, 1)])
      .filter((event: Event) => {
        if (event instanceof WheelEvent) return event.ctrlKey || event.shiftKey;
        return event instanceof MouseEvent ? event.button === 0 : true;
      })
      .wheelDelta((event) => {
        // With the shift key a wheel turns sideways.
        const turned = event.deltaY || event.deltaX;
        return -turned * (event.deltaMode === 1 ? 0.05 : event.deltaMode ? 1 : 0.004);
      })
      .on("zoom", (event: D3ZoomEvent<HTMLElement, unknown>) => {
        this.scale = event.transform.rescaleX(this.base);
        changed();
      });
    this.box.call(this.behaviour).on("dblclick.zoom", null);
  }

  /** Another width; what is looked at stays. */
  resize(width: number, gutter: number): void {
    this.gutter = gutter;
    if (width === this.width) return;
    const [from, to] = this.scale.domain();
    this.width = width;
    this.base = this.base.copy().range([0, width]);
    this.behaviour
      .extent([
        [0, 0],
        [width, 1],
      ])
      .translateExtent([
        [0, 0],
        [width, 1],
      ]);
    this.look(from, to);
  }

  /** Where an instant stands, never far outside, so that no number grows beyond what a path takes. */
  place(at: number): number {
    return Math.max(-50, Math.min(this.width + 50, this.scale(at)));
  }

  look(from: number, to: number): void {
    const factor = this.width / (this.base(to) - this.base(from));
    const moved = zoomIdentity.scale(factor).translate(-this.base(from), 0);
    this.box.call(this.behaviour.transform, moved);
  }

  zoomBy(factor: number): void {
    this.box.call(this.behaviour.scaleBy, factor, [this.width / 2, 0]);
  }

  moveBy(share: number): void {
    const factor = this.width / (this.base.invert(this.width) - this.base.invert(0));
    const [from, to] = this.scale.domain();
    this.box.call(this.behaviour.translateBy, -share * (to - from) * factor, 0);
  }

  showSession(): void {
    this.look(...this.session);
  }

  showAll(): void {
    this.box.call(this.behaviour.transform, zoomIdentity);
  }

  /** Bring an instant into sight, if it is out of it. */
  reveal(at: number): void {
    const [from, to] = this.scale.domain();
    if (at >= from && at <= to) return;
    this.look(at - (to - from) / 2, at + (to - from) / 2);
  }

  /** Instants for the axis, round in the zone that is read in. */
  ticks(): Ticks {
    const [from, to] = this.scale.domain();
    const offset = findOffset((from + to) / 2);
    const rounded = scaleUtc([from + offset, to + offset], [0, this.width]).ticks(
      Math.max(2, Math.floor(this.width / TICK_PIXELS)),
    );
    const values = rounded.map((tick) => tick.getTime() - offset);
    const step = values.length > 1 ? values[1] - values[0] : to - from;
    return { values: values.filter((at) => this.scale(at) > 18 && this.scale(at) < this.width - 18), step };
  }

  /** The instant under a pointer. */
  invert(event: MouseEvent, box: HTMLElement): number {
    return this.scale.invert(event.clientX - box.getBoundingClientRect().left - this.gutter);
  }
}

function widen(first: number, last: number): [number, number] {
  const margin = Math.max((last - first) * 0.02, 500);
  return [first - margin, last + margin];
}
