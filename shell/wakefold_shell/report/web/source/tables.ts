// The same data as tables, page by page: for people who read, and for programs that read aloud.

import type { Finding, Model } from "./data";
import { count, make, makeTime, makeValue, quote, shorten, showDuration } from "./words";

const PAGE_ROWS = 50;
const PRINTED_ROWS_MAX = 1000;
const SHOWN_CHARACTERS = 140;
const SHORT_CHARACTERS = 28; // what is no longer stands on one line

type Cell = Node | string;

interface Table {
  name: string;
  caption: string;
  columns: string[];
  /** The rows of these lanes, by number. */
  choose: (lanes: Set<number>, all: boolean) => number[];
  row: (place: number) => Cell[];
}

interface Section {
  element: HTMLElement;
  draw: (rows: number[]) => void;
  /** Show many rows from the first on for a print, and afterwards those that were shown before. */
  print: (printing: boolean) => void;
}

export class Tables {
  private readonly shown: { table: Table; section: Section }[] = [];
  private lanes: number[];

  constructor(
    private readonly model: Model,
    element: HTMLElement,
  ) {
    this.lanes = model.find("");
    for (const table of this.list()) {
      const section = makeSection(table);
      element.append(section.element);
      this.shown.push({ table, section });
    }
    this.retell();
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  choose(lanes: number[]): void {
    this.lanes = lanes;
    this.retell();
  }

  retell(): void {
    const chosen = new Set(this.lanes);
    const all = chosen.size === this.model.laneCount;
    for (const { table, section } of this.shown) section.draw(table.choose(chosen, all));
  }

  private print(printing: boolean): void {
    for (const { section } of this.shown) section.print(printing);
  }

  private list(): Table[] {
    const { model } = this;
    const { lanes, dispatches, changes, upcoming, turns, words, audit, active } = model.page;
    const laneOf = new Map(lanes.id.map((id, lane) => [id, lane]));
    const pick = (lane: (place: number) => number, many: number) => {
      return (chosen: Set<number>, all: boolean) => {
        const places = Array.from({ length: many }, (_, place) => place);
        return all ? places : places.filter((place) => chosen.has(lane(place)));
      };
    };
    const tables: Table[] = [
      {
        name: "active",
        caption: "Active reminders",
        columns: ["Id", "Kind", "State", "Target", "Snoozed until", "Not before", "Revision", "Runs", "Prompt"],
        choose: pick((place) => laneOf.get(active[place].id)!, active.length),
        row: (place) => {
          const view = active[place];
          const notBefore = view.heldUntil ?? view.deliveryNotBefore;
          return [
            quote(view.id),
            view.kind,
            view.heldUntil ? `${view.state}, held` : view.state,
            tellInstant(view.scheduledAt),
            tellInstant(view.snoozedUntil),
            tellInstant(notBefore),
            view.revision === undefined ? "" : String(view.revision),
            view.runs === undefined ? "" : String(view.runs),
            tellPrompt(model.lastPrompt(laneOf.get(view.id)!)),
          ];
        },
      },
      {
        name: "reminders",
        caption: "All reminders",
        columns: ["Id", "Title", "Kind", "Rule and options", "Created", "Dispatches", "How it stands", "Prompt"],
        choose: pick((lane) => lane, model.laneCount),
        row: (lane) => [
          quote(lanes.id[lane]),
          quote(lanes.title[lane]),
          lanes.kind[lane],
          quote(lanes.rule[lane]),
          makeTime(model.created[lane]),
          String(model.dispatchesOf[lane].length),
          tellStatus(model, lane),
          tellPrompt(model.lastPrompt(lane)),
        ],
      },
      {
        name: "receipts",
        caption: "Dispatches",
        columns: ["Event", "Id", "Occurrence", "Dispatched", "Late", "Delivery", "Batch", "Prompt"],
        choose: pick((place) => dispatches.lane[place], dispatches.lane.length),
        row: (place) => {
          const lane = dispatches.lane[place];
          const late = dispatches.lateMs[place];
          const failure = dispatches.more[place]?.failure;
          const batch = model.batchOf(place).length;
          const told = failure ? `${dispatches.delivery[place]}: ${failure}` : dispatches.delivery[place];
          return [
            makeValue(model.seq[place], String(model.seq[place])),
            quote(lanes.id[lane]),
            makeTime(model.occurrence(place)),
            makeTime(model.at[place]),
            makeValue(late, `${showDuration(late)}${late >= model.page.lateMs ? ", late" : ""}`),
            told,
            batch > 1 ? `one of ${batch}` : "",
            tellPrompt(model.promptAt(lane, model.seq[place])),
          ];
        },
      },
      {
        name: "changes",
        caption: "Edits, skips, deletes",
        columns: ["Event", "Id", "At", "What", "Instant", "Changes"],
        choose: pick((place) => changes[place][0], changes.length),
        row: (place) => {
          const [lane, seq, at, what, named, note] = changes[place];
          const instant = named === null ? "" : makeTime(named);
          return [String(seq), quote(lanes.id[lane]), makeTime(at), what, instant, quote(note)];
        },
      },
      {
        name: "findings",
        caption: "What the guard would have done",
        columns: ["Event", "At", "What", "Id", "Why"],
        choose: (_, all) => (all ? audit.findings.map((_finding, place) => place) : []),
        row: (place) => tellFinding(audit.findings[place]),
      },
      {
        name: "upcoming",
        caption: "What comes next",
        columns: ["Id", "Occurrence", "Delivery", "Prompt"],
        choose: pick((place) => upcoming[place][0], upcoming.length),
        row: (place) => {
          const [lane, occurrence, delivered] = upcoming[place];
          const prompt = tellPrompt(model.lastPrompt(lane));
          return [quote(lanes.id[lane]), makeTime(occurrence), makeTime(delivered), prompt];
        },
      },
      {
        name: "turns",
        caption: "Turns",
        columns: ["Turn", "Began", "Ended", "Took", "End"],
        choose: (_, all) => (all ? turns.map((_turn, place) => place) : []),
        row: (place) => {
          const [number, start, end, reason] = turns[place];
          const told = end === null ? ["", "", "open"] : [makeTime(end), showDuration(end - start), reason ?? ""];
          return [String(number), makeTime(start), ...told];
        },
      },
      {
        name: "words",
        caption: "External words",
        columns: ["Event", "At", "From"],
        choose: (_, all) => (all ? words.map((_word, place) => place) : []),
        row: (place) => {
          const [seq, at, kind] = words[place];
          return [String(seq), makeTime(at), quote(kind)];
        },
      },
    ];
    return tables;
  }
}

function tellInstant(text: string | undefined): Cell {
  const at = text === undefined ? NaN : Date.parse(text);
  return Number.isNaN(at) ? (text ?? "") : makeTime(at);
}

function tellFinding(finding: Finding): Cell[] {
  const names = finding.deleted?.join(", ") ?? finding.id ?? "";
  const why = finding.reason ?? `its reminder was ended by ${finding.limit}`;
  const at = Date.parse(finding.at);
  return [
    makeValue(finding.seq, String(finding.seq)),
    Number.isNaN(at) ? finding.at : makeTime(at),
    finding.kind,
    tellLong(names, names.length),
    finding.told === false ? `${why} (told before)` : why,
  ];
}

const STATUSES: Record<string, string> = {
  inherited: "inherited by a fork: the parent's",
  exhausted: "no repeating reminder comes any more: the gate opens after the year 9999",
  held: "overdue, held by the guard",
};

function tellStatus(model: Model, lane: number): string {
  const status = model.page.lanes.status[lane];
  return model.page.endings[status] ?? STATUSES[status] ?? status;
}

function tellPrompt([text, length]: [string, number]): Cell {
  return tellLong(text, length);
}

/** A text, of a long one the beginning and a button for the rest; `length` is the whole one's. */
function tellLong(text: string, length: number): Cell {
  const cut = length > text.length && text.length > 0;
  const whole = cut ? `${text}…` : text;
  if (whole.length <= SHOWN_CHARACTERS && !whole.includes("\n")) return quote(whole);
  const shown = quote(shorten(whole, SHOWN_CHARACTERS));
  const button = make("button", { type: "button", "aria-expanded": "false" }, "show all");
  const size = cut ? `the beginning of ${count(length, "character")}` : count(length, "character");
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "show less" : "show all";
    shown.textContent = open ? whole : shorten(whole, SHOWN_CHARACTERS);
    shown.classList.toggle("whole", open);
  });
  return make("div", { class: "prompt" }, shown, " ", button, " ", make("small", {}, size));
}

function makeSection(table: Table): Section {
  const heading = `table-${table.name}`;
  const body = make("tbody");
  const head = make("tr");
  for (const column of table.columns) head.append(make("th", { scope: "col" }, column));
  const grid = make("table", { "data-table": table.name, "aria-labelledby": heading });
  grid.append(make("thead", {}, head), body);
  const room = make("div", { class: "room", tabindex: "0", role: "region", "aria-label": table.caption });
  room.append(grid);
  const place = make("output", {});
  const turn = (label: string, by: number) => {
    const button = make("button", { type: "button" }, label);
    button.addEventListener("click", () => go(first + by * pageRows));
    return button;
  };
  const [back, on] = [turn("Earlier rows", -1), turn("Later rows", 1)];
  const pager = make("div", { class: "pager" }, back, on, place);
  const many = make("small");
  const section = make("section", {}, make("h2", { id: heading }, `${table.caption} `, many));
  section.append(room, pager);
  let rows: number[] = [];
  let first = 0;
  let read = 0;
  let pageRows = PAGE_ROWS;

  function go(wanted: number): void {
    first = Math.max(0, Math.min(wanted, pageRows * Math.floor(Math.max(rows.length - 1, 0) / pageRows)));
    const last = Math.min(first + pageRows, rows.length);
    body.replaceChildren(...rows.slice(first, last).map((number) => makeRow(table.row(number))));
    place.textContent = rows.length ? `rows ${first + 1} to ${last} of ${rows.length}` : "";
    many.textContent = rows.length.toLocaleString("en");
    pager.hidden = rows.length <= pageRows;
    room.hidden = rows.length === 0;
    if (!rows.length) many.textContent = "none";
    back.disabled = first === 0;
    on.disabled = last === rows.length;
  }

  return {
    element: section,
    draw(chosen) {
      const kept = chosen.length === rows.length ? first : 0;
      rows = chosen;
      go(kept);
    },
    print(printing) {
      if (printing) read = first;
      pageRows = printing ? PRINTED_ROWS_MAX : PAGE_ROWS;
      go(printing ? 0 : read);
    },
  };
}

function makeRow(cells: Cell[]): HTMLElement {
  const row = make("tr");
  cells.forEach((cell, place) => {
    const made = make(place ? "td" : "th", place ? {} : { scope: "row" }, cell);
    if ((made.textContent ?? "").length <= SHORT_CHARACTERS) made.classList.add("short");
    row.append(made);
  });
  return row;
}
