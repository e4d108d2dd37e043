// How instants, lengths of time and texts read: in UTC or a zone, and always as text.

export type Zone = string; // "UTC", or a name that the browser knows

let zone: Zone = "UTC";
let clock = makeClock(zone);

export function chooseZone(name: Zone): void {
  zone = name;
  clock = makeClock(name);
}

export function chosenZone(): Zone {
  return zone;
}

export function isZone(name: string): boolean {
  try {
    makeClock(name);
    return true;
  } catch {
    return false;
  }
}

function makeClock(name: Zone): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone: name,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "longOffset",
  });
}

interface Reading {
  date: string;
  time: string;
  milliseconds: string;
  offset: string;
}

const EARLIEST = -62_135_596_800_000;
const LATEST = 253_402_300_799_999;

function read(at: number): Reading | null {
  if (!(at >= EARLIEST && at <= LATEST)) return null;
  const milliseconds = String(((at % 1000) + 1000) % 1000).padStart(3, "0");
  if (zone === "UTC") {
    const text = new Date(at).toISOString();
    return { date: text.slice(0, 10), time: text.slice(11, 19), milliseconds, offset: "Z" };
  }
  const parts = Object.fromEntries(clock.formatToParts(at).map((part) => [part.type, part.value]));
  const offset = parts.timeZoneName.replace("GMT", "") || "+00:00";
  const date = `${parts.year.padStart(4, "0")}-${parts.month}-${parts.day}`;
  const time = `${parts.hour}:${parts.minute}:${parts.second}`;
  return { date, time, milliseconds, offset: ` ${offset}` };
}

/** An instant to the second; one outside the calendar, which a log may hold, as its number. */
export function showInstant(at: number): string {
  const reading = read(at);
  return reading ? `${reading.date} ${reading.time}${reading.offset}` : `${at} ms`;
}

/** The same with milliseconds. */
export function showExactly(at: number): string {
  const reading = read(at);
  return reading
    ? `${reading.date} ${reading.time}.${reading.milliseconds}${reading.offset}`
    : `${at} ms`;
}

/** A label under an axis whose ticks stand so many milliseconds apart. */
export function showTick(at: number, step: number): string {
  const reading = read(at);
  if (!reading) return "";
  if (step >= 360 * DAY) return reading.date.slice(0, 4);
  if (step >= 28 * DAY) return reading.date.slice(0, 7);
  const midnight = reading.time === "00:00:00" && reading.milliseconds === "000";
  if (step >= DAY || midnight) return reading.date.slice(5);
  if (step >= 60_000) return reading.time.slice(0, 5);
  return step >= 1000 ? reading.time : `${reading.time.slice(3)}.${reading.milliseconds}`;
}

/** How far the zone's clocks are ahead of UTC. */
export function findOffset(at: number): number {
  const reading = read(at);
  if (!reading || zone === "UTC") return 0;
  return Date.parse(`${reading.date}T${reading.time}.${reading.milliseconds}Z`) - at;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time, as the commands tell it. */
export function showDuration(milliseconds: number): string {
  const sign = milliseconds < 0 ? "-" : "";
  const left = Math.abs(milliseconds);
  if (left < SECOND) return `${sign}${left} ms`;
  if (left < MINUTE) return `${sign}${(left / SECOND).toFixed(1)} s`;
  if (left < HOUR) {
    return `${sign}${Math.floor(left / MINUTE)} min ${Math.floor((left % MINUTE) / SECOND)} s`;
  }
  if (left < DAY) {
    return `${sign}${Math.floor(left / HOUR)} h ${Math.floor((left % HOUR) / MINUTE)} min`;
  }
  return `${sign}${Math.floor(left / DAY)} d ${Math.floor((left % DAY) / HOUR)} h`;
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function shorten(text: string, characters: number): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > characters ? `${line.slice(0, characters - 1)}…` : line;
}

type Child = Node | string;

/** An element; its attributes are set one by one, and every text in it is text. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Text of somebody else's, which must not turn the text around it. */
export function quote(text: string): HTMLElement {
  return make("bdi", { dir: "auto" }, text);
}

/** An instant that programs can read, too. */
export function makeTime(at: number, show = showInstant): HTMLElement {
  const iso = at >= EARLIEST && at <= LATEST ? new Date(at).toISOString() : String(at);
  return make("time", { datetime: iso }, show(at));
}

/** A number or a length of time that programs can read, too. */
export function makeValue(value: number, shown: string, name = ""): HTMLElement {
  return make("data", { value: String(value), ...(name ? { "data-name": name } : {}) }, shown);
}
