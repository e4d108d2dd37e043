// The guard's counts as lines of steps beside their limits, under the same axis as the lanes.

import { axisLeft } from "d3-axis";
import { scaleLinear, scaleSymlog } from "d3-scale";
import { select } from "d3-selection";
import { curveStepAfter, line } from "d3-shape";

import { itself, placeAfter, type CounterName, type Finding, type Model, type StepLine } from "./data";
import type { TimeScale } from "./scales";

export const CHART_PIXELS = 84;
const TOP = 10;
const BOTTOM = CHART_PIXELS - 8;
const FAR_OVER = 5;

interface Chart {
  name: CounterName;
  title: string;
  limit: string;
  peak: (model: Model) => number;
  /** Whether a count is one at which the guard acts. */
  trips: (count: number, limit: number) => boolean;
  means: string;
  marks: (finding: Finding) => boolean;
}

export const CHARTS: Chart[] = [
  {
    name: "streak",
    title: "In a row",
    limit: "maxConsecutiveWakeups",
    peak: (model) => model.page.audit.longestStreak,
    trips: (count, limit) => count > limit,
    means: "over the limit: repeats are deleted",
    marks: (finding) => finding.kind === "stopped" && / in a row /.test(finding.reason ?? ""),
  },
  {
    name: "hour",
    title: "Sliding hour",
    limit: "maxPerHour",
    peak: (model) => model.page.audit.busiestHour,
    trips: (count, limit) => limit > 0 && count >= limit,
    means: "used up: new reminders are refused",
    marks: (finding) => finding.code === "SCHEDULE_HOURLY_CAP",
  },
  {
    name: "day",
    title: "Day",
    limit: "maxPerDay",
    peak: (model) => model.page.audit.busiestDay,
    trips: (count, limit) => count > limit,
    means: "over the limit: repeats are deleted",
    marks: (finding) => finding.kind === "stopped" && / today /.test(finding.reason ?? ""),
  },
];

export function drawChart(svg: SVGSVGElement, chart: Chart, model: Model, scale: TimeScale): void {
  const limit = Number(model.page.limits[chart.limit]);
  const peak = chart.peak(model);
  const top = Math.max(peak, limit, 1);
  const far = peak > FAR_OVER * Math.max(limit, 1);
  const y = (far ? scaleSymlog().constant(Math.max(limit, 1)) : scaleLinear())
    .domain([0, top])
    .range([BOTTOM, TOP]);
  const steps = thin(model.lines[chart.name], scale);
  const last = model.page.session.now;
  const root = select(svg);
  const path = line<[number, number]>(
    ([at]) => clip(scale, at),
    ([, count]) => y(count),
  ).curve(curveStepAfter);
  const trips = (count: number) => chart.trips(count, limit);
  root.select(".tripped").attr("d", drawTripped(steps, trips, scale, Math.max(last, model.last)));
  root.select(".limit").attr("d", `M0,${y(limit)}H${scale.width}`);
  root.select(".steps").attr("d", path(steps));
  root.select(".found").attr("d", drawFindings(model, chart, scale));
  const ticks = [...new Set([0, limit, peak])].filter((tick, place, all) => {
    return all.slice(0, place).every((other) => Math.abs(y(tick) - y(other)) > 11);
  });
  const axis = axisLeft(y).tickValues(ticks).tickFormat(String).tickSize(4);
  root.select<SVGGElement>(".axis").call(axis);
}

/** Of the steps on each pixel the first, the least, the greatest and the last. */
function thin(steps: StepLine, scale: TimeScale): [number, number][] {
  const [from, to] = scale.scale.domain();
  const perMs = scale.width / (to - from); // the scale itself takes long for so many
  const pixelOf = (place: number) => Math.floor((steps.at[place] - from) * perMs);
  const first = Math.max(0, placeAfter(steps.at, itself, from) - 1);
  const kept: [number, number][] = [];
  const keep = (place: number) => kept.push([steps.at[place], steps.counts[place]]);
  if (!(steps.at[0] <= from)) kept.push([from, 0]);
  let place = first;
  while (place < steps.at.length && steps.at[place] <= to) {
    const pixel = pixelOf(place);
    let [least, greatest, last] = [place, place, place];
    const begun = place;
    for (; place < steps.at.length && pixelOf(place) === pixel; place += 1) {
      if (steps.counts[place] < steps.counts[least]) least = place;
      if (steps.counts[place] > steps.counts[greatest]) greatest = place;
      last = place;
    }
    for (const one of [...new Set([begun, least, greatest, last])].sort((a, b) => a - b)) keep(one);
  }
  kept.push([to, kept[kept.length - 1][1]]);
  return kept;
}

function drawTripped(
  steps: [number, number][],
  trips: (count: number) => boolean,
  scale: TimeScale,
  end: number,
): string {
  let path = "";
  let since: number | null = null;
  const close = (at: number) => {
    if (since === null) return;
    const left = clip(scale, since);
    path += `M${left},${TOP - 6}H${Math.max(clip(scale, at), left + 1)}V${BOTTOM}H${left}z`;
    since = null;
  };
  for (const [at, count] of steps) {
    if (!trips(count)) close(at);
    else since ??= at;
  }
  close(Math.min(end, scale.scale.domain()[1]));
  return path;
}

/** Where an instant stands, never beside the chart, whose own axis stands there. */
function clip(scale: TimeScale, at: number): number {
  return Math.max(0, Math.min(scale.width, scale.scale(at)));
}

function drawFindings(model: Model, chart: Chart, scale: TimeScale): string {
  return model.page.audit.findings
    .filter(chart.marks)
    .map((finding) => scale.scale(Date.parse(finding.at)))
    .filter((x) => x >= 0 && x <= scale.width)
    .map((x) => `M${x - 5},0h10l-5,9z`)
    .join("");
}
