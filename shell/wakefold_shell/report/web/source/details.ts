// What is told of the mark that is looked at: in one fixed place, never over the picture.

import type { Mark, Model } from "./data";
import { count, make, makeTime, makeValue, quote, shorten, showDuration, showExactly } from "./words";

type Row = [string, Node | string];

const MEMBERS_MAX = 12;
const WHAT: Record<string, string> = {
  created: "Created",
  deleted: "Deleted",
  skipped: "Skipped, too late",
  paused: "Paused",
  resumed: "Resumed",
  snoozed: "Snoozed",
  updated: "Edited",
  next: "To come",
};

export function describeMark(model: Model, lane: number, mark: Mark): Row[] {
  const { page } = model;
  const title = page.lanes.title[lane];
  const name = make("span", {}, quote(page.lanes.id[lane]));
  if (title) name.append(" ", quote(title));
  const rows: Row[] = [["Reminder", name]];
  const seq = mark.what === "dispatch" ? model.seq[mark.ref] : undefined;
  if (mark.what === "created") {
    rows.unshift(["What", `Created, event ${model.laneSeq[lane]}`]);
    rows.push(["At", makeTime(mark.at, showExactly)], ["Rule", describeRule(model, lane)]);
  } else if (mark.what === "dispatch") {
    rows.unshift(["What", `Dispatch, event ${seq}`]);
    rows.push(...describeDispatch(model, mark.ref));
  } else if (mark.what === "change") {
    const [, place, at, what, named, note] = page.changes[mark.ref];
    rows.unshift(["What", `${WHAT[what]}, event ${place}`]);
    rows.push(["At", makeTime(at, showExactly)]);
    if (named !== null) rows.push([NAMED[what] ?? "Instant", makeTime(named, showExactly)]);
    if (note) rows.push(["Changes", quote(note)]);
  } else {
    const [, occurrence, delivered] = page.upcoming[mark.ref];
    rows.unshift(["What", "To come, as a runner delivers it that is always live"]);
    rows.push(["Occurrence", makeTime(occurrence, showExactly)]);
    rows.push(["Delivery", makeTime(delivered, showExactly)]);
  }
  const [prompt, length] = model.promptAt(lane, seq ?? Infinity);
  rows.push(["Prompt", describePrompt(prompt, length)]);
  return rows;
}

const NAMED: Record<string, string> = {
  skipped: "Occurrence",
  resumed: "Next target",
  snoozed: "Until",
};

function describeRule(model: Model, lane: number): Node {
  const rule = make("span", {}, `${model.page.lanes.kind[lane]}: `);
  rule.append(quote(model.page.lanes.rule[lane]));
  return rule;
}

function describePrompt(prompt: string, length: number): Node {
  const shown = make("span", {}, quote(shorten(prompt, 400)));
  if (length > 400) shown.append(` (${count(length, "character")}; the table has more)`);
  return shown;
}

function describeDispatch(model: Model, place: number): Row[] {
  const { dispatches } = model.page;
  const at = model.at[place];
  const late = dispatches.lateMs[place];
  const more = dispatches.more[place] ?? {};
  const rows: Row[] = [
    ["Occurrence", makeTime(model.occurrence(place), showExactly)],
    ["Dispatched", makeTime(at, showExactly)],
    ["Late", makeValue(late, showDuration(late))],
    ["Delivery", [dispatches.delivery[place], more.failure].filter(Boolean).join(": ")],
  ];
  if (more.durationMs !== undefined) rows.push(["Took", showDuration(more.durationMs)]);
  const batch = model.batchOf(place);
  if (batch.length > 1) rows.push(["Batch", describeBatch(model, batch)]);
  if (model.seq[place] >= model.page.session.seedLength) {
    const counts = `${model.count("streak", at)} in a row, ${model.count("hour", at)} in the hour`;
    rows.push(["Counts then", `${counts}, ${model.count("day", at)} that day`]);
  } else rows.push(["Counts then", "inherited from the parent session: the guard counts none"]);
  const finding = model.findingOf.get(model.seq[place]);
  if (finding?.kind === "prevented") {
    rows.push(["Guard", `would not have come: its reminder was ended by ${finding.limit}`]);
  }
  return rows;
}

function describeBatch(model: Model, batch: number[]): Node {
  const told = make("span", {}, `${count(batch.length, "reminder")} in one message: `);
  batch.slice(0, MEMBERS_MAX).forEach((place, number) => {
    told.append(number ? ", " : "", quote(model.page.lanes.id[model.page.dispatches.lane[place]]));
  });
  if (batch.length > MEMBERS_MAX) told.append(", …");
  return told;
}

/** Rows as a list of terms. */
export function makeList(rows: Row[]): HTMLElement {
  const list = make("dl");
  for (const [term, told] of rows) {
    list.append(make("div", {}, make("dt", {}, term), make("dd", {}, told)));
  }
  return list;
}
