"""The laws of a store, for every store there is and for those that users write.

`check_store(open_store)` runs them; each law is a function of its own whose docstring is the law, and
which raises an `AssertionError` that tells what was done, expected and found, and what to do. A store
is opened for writing, and its log is read once before anything is appended, as the shell does.
"""

from __future__ import annotations

from typing import Final

from wakefold_laws.crash_laws import (
    check_failed_syncs,
    check_kills,
    check_names,
    check_power_cuts,
    check_torn_writes,
)
from wakefold_laws.store_trials import (
    AWKWARD,
    Law,
    Life,
    OpenStore,
    Trial,
    describe_error,
    describe_events,
    make_awkward_events,
    make_events,
    try_on_every_backend,
)

__all__ = [
    "AWKWARD",
    "DURABLE_LAWS",
    "FORGETFUL_LAWS",
    "KILL_LAWS",
    "STORE_LAWS",
    "WRITE_LAWS",
    "Law",
    "OpenStore",
    "check_appends",
    "check_barriers",
    "check_data",
    "check_data_in_the_next_life",
    "check_empty_batches",
    "check_header",
    "check_lease",
    "check_lives",
    "check_readers",
    "check_refusals",
    "check_store",
    "make_events",
    "select_laws",
]


@try_on_every_backend
async def check_barriers(trial: Trial) -> None:
    """A barrier over a healthy store answers True, whether or not there is anything new."""
    trial.remedy = (
        "let flush() be async and return True, the value itself, once all that was appended is durable"
    )
    with trial.begin() as life:
        await life.flush()
        life.append(make_events(len(trial.log), 2))
        await life.flush()
        life.check()
        await life.flush()


@try_on_every_backend
async def check_appends(trial: Trial) -> None:
    """What was appended is read from any place on, in order, before the barrier and after it."""
    trial.remedy = "let read_events(start) give every event with seq >= start, appended ones at once"
    with trial.begin() as life:
        for count in (1, 3, 1):
            life.append(make_events(len(trial.log), count))
            life.check_all_places()
            await life.flush()
            life.check_all_places()


@try_on_every_backend
async def check_empty_batches(trial: Trial) -> None:
    """An append of no events is taken and changes nothing."""
    trial.remedy = "let append([]) do nothing"
    with trial.begin() as life:
        for _ in range(2):
            life.append([])
            life.check_all_places()
            life.append(make_events(len(trial.log), 2))
            life.check_all_places()
        await life.flush()


@try_on_every_backend
async def check_refusals(trial: Trial) -> None:
    """A batch that does not follow the log is refused whole, with an exception, and changes nothing."""
    trial.remedy = (
        "before anything is written, compare each event's seq with its place in the log, "
        "and raise if it differs: whoever appends has folded another log"
    )
    with trial.begin() as life:
        life.append(make_events(len(trial.log), 3))
        end = len(trial.log)
        for places in ((0,), (end - 1,), (end + 1,), (end, end), (end, end + 2)):
            batch = [event for place in places for event in make_events(place, 1)]
            trial.note(f"append({describe_events(batch)}) to a log of {end} events")
            try:
                life.store.append(batch)
            except Exception as error:  # noqa: BLE001 - a store has its own errors; it must have one
                trial.steps[-1] += f": {type(error).__name__}"
            else:
                trial.fail("it raises", "the batch was taken")
            life.check_all_places()
        life.append(make_events(end, 1))
        await life.flush()
        life.check_all_places()


@try_on_every_backend
async def check_readers(trial: Trial) -> None:
    """A reader sees the log as it was when it began, and of what was appended since a beginning."""
    trial.remedy = (
        "let read_events go over a copy, or over places, not over a list that grows meanwhile"
    )
    with trial.begin() as life:
        for start in (0, 1):
            life.append(make_events(len(trial.log), 3))
            known = len(trial.log) - start
            trial.note(f"a reader begins at {start} and takes one event")
            with trial.attempt("an event"):
                reader = iter(life.store.read_events(start))
                seen = [next(reader)]
            life.append(make_events(len(trial.log), 2))
            trial.note("the reader goes on to the end")
            with trial.attempt("the rest"):
                seen += reader
            trial.check(seen[:known], trial.log[start:][:known])
            trial.check(seen[known:], trial.log[start:][known : len(seen)])
            await life.flush()


@try_on_every_backend
async def check_data(trial: Trial) -> None:
    """Data is read as it was given: lone surrogates, control characters, exact numbers, any length."""
    trial.remedy = "keep data as JSON in ASCII (json.dumps as it is by default), one event a line"
    with trial.begin() as life:
        life.append(make_awkward_events(len(trial.log)))
        life.check_all_places()
        await life.flush()
        life.check_all_places()


@try_on_every_backend
async def check_lives(trial: Trial) -> None:
    """What a barrier acknowledged is there in the next life, which can append to it."""
    trial.remedy = (
        "let flush() write all that was appended; open what lies in the directory, read all of it and "
        "append after it "
        "(a store that forgets when it is closed is checked with durable=False)"
    )
    with trial.begin() as life:
        life.append(make_events(len(trial.log), 3))
        await life.flush()
    for count in (2, 1):
        with trial.open(trial.directory, "the same directory") as life:
            life.check()
            life.append(make_events(len(trial.log), count))
            life.check()
            await life.flush()
    with trial.open(trial.directory, "the same directory") as life:
        life.check_all_places()


@try_on_every_backend
async def check_data_in_the_next_life(trial: Trial) -> None:
    """Data that lay on a disk is read as it was given, however awkward."""
    trial.remedy = (
        "keep data as JSON in ASCII (json.dumps as it is by default) and split lines at b'\\n' alone; "
        "str.splitlines and text files split elsewhere too"
    )
    with trial.begin() as life:
        life.append(make_awkward_events(len(trial.log)))
        await life.flush()
    with trial.open(trial.directory, "the same directory") as life:
        life.check_all_places()


@try_on_every_backend
async def check_header(trial: Trial) -> None:
    """Seed length, time zone and delegation depth are sound, and the same in every life."""
    trial.remedy = "keep what the session was created with beside its log, and read it from there"
    with trial.begin() as life:
        first = _read_header(trial, life)
        life.append(make_events(len(trial.log), 1))
        await life.flush()
        if _read_header(trial, life) != first:
            trial.fail(first, _read_header(trial, life))
    with trial.open(trial.directory, "the same directory") as life:
        life.read()
        if _read_header(trial, life) != first:
            trial.fail(first, _read_header(trial, life))


@try_on_every_backend
async def check_lease(trial: Trial) -> None:
    """While one writer has the session a second one is refused in words, and changes nothing."""
    trial.remedy = (
        "hold fcntl.flock(file, LOCK_EX | LOCK_NB) on a file of the directory, from before the log "
        "is read until the store is closed, and let the exception say why "
        "(fcntl.lockf does not exclude a second writer in the same process)"
    )
    with trial.begin() as life:
        life.append(make_events(len(trial.log), 2))
        await life.flush()
        trial.note("open_store(the same directory), while the first one is open")
        try:
            with trial.open_store(trial.directory) as second:
                list(second.read_events(0))
        except Exception as error:  # noqa: BLE001 - as above
            if not str(error):
                trial.fail("an exception that says why", repr(error), error)
            trial.steps[-1] += f": {describe_error(error)}"
        else:
            trial.fail("it raises", "a second writer was let in")
        life.check()
        life.append(make_events(len(trial.log), 1))
        await life.flush()
    with trial.open(trial.directory, "the same directory, now free") as life:
        life.check()


def _read_header(trial: Trial, life: Life) -> str:
    """What a store says of its session's header, in words."""
    store = life.store
    with trial.attempt("seed_length, time_zone and delegation_depth"):
        seed_length, time_zone = store.seed_length, store.time_zone
        delegation_depth = store.delegation_depth
    said = f"{seed_length=}, {time_zone=}, {delegation_depth=}"
    if not (0 <= seed_length <= len(trial.log) and delegation_depth >= 0):
        trial.fail("no negative number, and no seed longer than the log", said)
    return said


#: What every store keeps, one that forgets when it is closed too.
#:
#: :shape: a tuple of laws, the simplest first
#: :units: none
#: :errors: none
#: :source: ours, docs/checking-stores.md
FORGETFUL_LAWS: Final[tuple[Law, ...]] = (
    check_barriers,
    check_appends,
    check_empty_batches,
    check_refusals,
    check_readers,
    check_data,
)

#: What is seen by copying the directory: for a store that keeps everything in it.
#:
#: :shape: a tuple of laws, the simplest first
#: :units: none
#: :errors: none
#: :source: ours, docs/checking-stores.md
KILL_LAWS: Final[tuple[Law, ...]] = (check_kills,)

#: What is seen by watching single writes and `os.fsync`: for a store that also does both in Python.
#:
#: :shape: a tuple of laws, the simplest first
#: :units: none
#: :errors: none
#: :source: ours, docs/checking-stores.md
WRITE_LAWS: Final[tuple[Law, ...]] = (
    check_torn_writes,
    check_power_cuts,
    check_names,
    check_failed_syncs,
)

#: What a store that forgets cannot keep.
#:
#: :shape: a tuple of laws, the simplest first
#: :units: none
#: :errors: none
#: :source: ours, docs/checking-stores.md
DURABLE_LAWS: Final[tuple[Law, ...]] = (
    check_lives,
    check_data_in_the_next_life,
    check_header,
    check_lease,
    *KILL_LAWS,
    *WRITE_LAWS,
)

#: All laws of a store.
#:
#: :shape: a tuple of laws, the simplest first
#: :units: none
#: :errors: none
#: :source: ours, docs/checking-stores.md
STORE_LAWS: Final[tuple[Law, ...]] = (*FORGETFUL_LAWS, *DURABLE_LAWS)


def select_laws(
    *, durable: bool = True, in_directory: bool = True, writes_in_python: bool = True
) -> tuple[Law, ...]:
    """The laws that apply to a store, in order; `check_store` tells what each argument means.

    :shape: a tuple of `Law`, each a function that takes an `OpenStore`
    :units: none
    :errors: none
    :source: ours, docs/checking-stores.md
    """
    left_out = {
        *(() if durable else DURABLE_LAWS),
        *(() if in_directory else (*KILL_LAWS, *WRITE_LAWS)),
        *(() if writes_in_python else WRITE_LAWS),
    }
    return tuple(law for law in STORE_LAWS if law not in left_out)


def check_store(
    open_store: OpenStore,
    *,
    durable: bool = True,
    in_directory: bool = True,
    writes_in_python: bool = True,
) -> None:
    """Hold every law that applies to a store, each in new directories.

    `durable=False` is for a store that forgets when it is closed, which may ignore the directory;
    `in_directory=False` for one that keeps its log elsewhere (a server), whose crashes are not tried;
    `writes_in_python=False` for one that writes in C (SQLite), which is killed, but keeps its power.

    :shape: an `OpenStore` goes in; nothing comes out where the laws hold
    :units: none
    :errors: `AssertionError` for the first law that is broken
    :source: ours, docs/checking-stores.md
    """
    for law in select_laws(
        durable=durable, in_directory=in_directory, writes_in_python=writes_in_python
    ):
        law(open_store)
