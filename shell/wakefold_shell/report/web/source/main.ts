// The page from top to bottom: what it is about, the numbers, the picture, the tables.

import "./page.css";

import { Model, readPage } from "./data";
import { Tables } from "./tables";
import { Timeline } from "./timeline";
import {
  chooseZone,
  chosenZone,
  count,
  isZone,
  make,
  makeTime,
  makeValue,
  quote,

} from "./words";

const KEYS =
  "In the timeline: up and down go from lane to lane, left and right from mark to mark, n and p from " +
  "dispatch to dispatch, + and - zoom, 0 shows the whole session, c what comes, too, shift with left and right moves in " +
  "time. Drag to move, turn the wheel with ctrl or shift to zoom.";

const LEGEND: [string, string][] = [
  ["created", "created"],
  ["dispatch", "dispatch (a bar: many)"],
  ["late", "late, by a minute or more, since its occurrence"],
  ["failed", "its turn failed"],
  ["skipped", "skipped"],
  ["edited", "edited, paused, snoozed"],
  ["paused", "paused"],
  ["deleted", "deleted"],
  ["ended", "ended"],
  ["next", "to come"],
  ["turn", "turn"],
  ["word", "external word"],
  ["now", "looked at from here"],
];

const SAMPLES: Record<string, string> = {
  created: "M7.5,8a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z",
  dispatch: "M10.5,1h2.5v14h-2.5z",
  late: "M4,3v10M4,8h14M17,1h2.5v14h-2.5z",
  failed: "M8,4h8l-4,6z",
  skipped: "M7,3h10l-5,10z",
  edited: "M8,4h8v8h-8z",
  paused: "M0,8H24",
  deleted: "M7,3l10,10M17,3l-10,10",
  ended: "M12,0v16",
  next: "M12,2l6,6l-6,6l-6,-6z",
  turn: "M2,4h20v8h-20z",
  word: "M7,13h10l-5,-10z",
  now: "M12,0v16",
};

async function start(): Promise<void> {
  const root = document.getElementById("page")!;
  const model = new Model(await readPage(document.getElementById("data")!));
  const { page } = model;
  document.title = `${page.session.id}: wakefold report`;
  const head = make("header");
  const numbers = make("div", { class: "numbers", role: "group", "aria-label": "Numbers" });
  const picture = make("section", { class: "picture", "aria-label": "Timeline" });
  const tables = make("div", { class: "tables" });
  root.replaceChildren(head, make("main", {}, numbers, picture, tables));
  const subtitle = make("p", { class: "subtitle" });
  const found = make("output", { class: "found" });
  const tell = () => {
    tellSession(subtitle, model);
    tellNumbers(numbers, model);
  };
  tell();
  picture.append(make("h2", {}, "Timeline"), makeLegend(), make("p", { id: "keys" }, KEYS));
  const timeline = new Timeline(model, picture);
  const shown = new Tables(model, tables);
  const search = make("input", { type: "search", placeholder: "id or text", id: "search" });
  search.addEventListener("input", () => {
    const lanes = model.find(search.value);
    found.textContent = search.value.trim() ? `${lanes.length} of ${count(model.laneCount, "reminder")}` : "";
    timeline.choose(lanes);
    shown.choose(lanes);
  });
  const zones = makeChoice("Time", listZones(model), chosenZone(), (zone) => {
    chooseZone(zone);
    tell();
    timeline.retell();
    shown.retell();
  });
  const themes = makeChoice(
    "Theme",
    [
      ["auto", "as the system"],
      ["light", "light"],
      ["dark", "dark"],
    ],
    "auto",
    (theme) => document.documentElement.setAttribute("data-theme", theme),
  );
  const find = make("label", {}, "Find ", search);
  head.append(make("h1", {}, quote(page.session.id)), subtitle);
  head.append(make("div", { class: "choices" }, find, found, zones, themes));
  for (const warning of page.session.warnings) head.append(make("p", { class: "warning" }, warning));
  document.documentElement.setAttribute("data-ready", performance.now().toFixed());
}

function listZones(model: Model): [string, string][] {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const named = model.page.session.timeZone;
  const zones: [string, string][] = [["UTC", "UTC"]];
  if (named && named !== "UTC" && isZone(named)) zones.push([named, `the session's: ${named}`]);
  if (own && own !== "UTC" && own !== named) zones.push([own, `local: ${own}`]);
  if (zones.length === 1) zones.push([own || "UTC", `local: ${own || "UTC"}`]);
  return zones;
}

function tellSession(element: HTMLElement, model: Model): void {
  const { session } = model.page;
  const told: (Node | string)[] = [count(session.events, "event")];
  if (session.first !== null && session.last !== null) {
    told.push(", ", makeTime(session.first), " to ", makeTime(session.last));
  }
  if (session.seedLength) told.push(`; a fork that inherited ${count(session.seedLength, "event")}`);
  told.push("; looked at from ", makeTime(session.now));
  element.replaceChildren(...told);
}

function tellNumbers(element: HTMLElement, model: Model): void {
  const { wakeups, audit, nextWake, active, limits } = model.page;
  const next = make("span", { "data-name": "nextWake" });
  next.append(nextWake === null ? "none planned" : makeTime(Date.parse(nextWake)));
  const value = (name: string, number: number) => makeValue(number, number.toLocaleString("en"), name);
  const limit = (name: string) => {
    const off = name === "maxPerHour" && Number(limits[name]) <= 0;
    return off ? " (no limit)" : ` (limit ${limits[name]})`;
  };
  const prevented = make("span", {}, value("audit.prevented", audit.prevented));
  Object.entries(audit.preventedBy).forEach(([by, number], place) => {
    prevented.append(place ? ", " : " (", `${by} `, value(`audit.preventedBy.${by}`, number));
  });
  if (audit.prevented) prevented.append(")");
  const tiles: [string, ...(Node | string)[]][] = [
    ["Active", value("active", active.length), ` of ${model.laneCount.toLocaleString("en")}`],
    ["Next wake", next],
    ["Wakeups", value("wakeups.total", wakeups.total)],
    ["In a row now", value("wakeups.consecutive", wakeups.consecutive)],
    ["Most in a row", value("wakeups.maxConsecutive", wakeups.maxConsecutive), limit("maxConsecutiveWakeups")],
    ["Last hour", value("wakeups.lastHour", wakeups.lastHour)],
    ["Busiest hour", value("audit.busiestHour", audit.busiestHour), limit("maxPerHour")],
    ["Today", value("wakeups.today", wakeups.today)],
    ["Busiest day", value("audit.busiestDay", audit.busiestDay), limit("maxPerDay")],
    ["Guard would prevent", prevented],
  ];
  element.replaceChildren(
    ...tiles.map(([name, ...told]) => make("div", {}, make("span", {}, name), make("b", {}, ...told))),
  );
  element.append(hide("audit.wakeups", audit.wakeups), hide("audit.longestStreak", audit.longestStreak));
}

/** A number that another one on the page says already, for programs. */
function hide(name: string, number: number): HTMLElement {
  const value = makeValue(number, "", name);
  value.hidden = true;
  return value;
}

function makeChoice(
  name: string,
  options: [string, string][],
  chosen: string,
  act: (value: string) => void,
): HTMLElement {
  const choice = make("select");
  for (const [value, shown] of options) choice.append(make("option", { value }, shown));
  choice.value = chosen;
  choice.addEventListener("change", () => act(choice.value));
  return make("label", {}, `${name} `, choice);
}

function makeLegend(): HTMLElement {
  const legend = make("ul", { class: "legend" });
  for (const [kind, means] of LEGEND) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 24 16");
    svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("class", "track");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("class", kind === "late" ? "whisker late" : kind);
    path.setAttribute("d", SAMPLES[kind]);
    svg.append(path);
    legend.append(make("li", {}, svg, ` ${means}`));
  }
  return legend;
}

start().catch((error: unknown) => {
  const told = `This page cannot be shown (${String(error)}); it needs a browser of 2023 or newer.`;
  document.getElementById("page")!.replaceChildren(make("p", { class: "warning" }, told));
});

