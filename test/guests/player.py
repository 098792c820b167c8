# player.py: a guest that draws ids all the time, for test/perl/Guests.pm.
#
#	player.py CLIENT DRIVER FILE BATCH PAUSE [fork]
#
# CLIENT is the folder of uidgen.py.  A player that guests.pl is given by --client has neither that nor DRIVER.  It has to do this:
#
# - FILE.to says where the registry is, as "host=... port=...", each time that the guest connects.  Where it is "fail", connect() ends as no library should,
#   with a message that has "as a library may".  PLAYER_REGISTRY in the environment is the number of the registry, or 0.
# - BATCH ids at a time go to FILE, in the order in which they were drawn, as COPY writes them in binary: "PGCOPY\n\377\r\n\0", 8 bytes 0, and for each id
#   two bytes for 1, four for 8 and eight for the id, the greater ones first.  PAUSE is in milliseconds, between batches.
# - The guest waits for an id for a second.  What it says then goes to FILE.err: a line of the condition, a space and the message.
# - FILE.do names a method of the guest, restored or drop, which is called between two batches; then the file is removed.
# - SIGTERM is a clean end.
# - With fork, a child goes on as well, with FILE.child, once the guest has an id.
# - "threads" in place of BATCH: the guest waits for 60 s, draws 40 times 5000 ids in one thread, and says in FILE.err how long that took; then PAUSE threads draw
#   20000 each, and the player ends.
#
# Of ours alone: "crowd" in place of BATCH: PAUSE guests at once, of which each draws some ids and keeps its worker id; "vectors" in place of FILE, and
# test/vectors.tsv behind it: prints which strict rows it reads otherwise, and how many there are.
import contextlib
import importlib
import os
import re
import signal
import struct
import sys
import threading
import time
from datetime import datetime, timedelta, timezone

sys.path.insert(0, sys.argv[1])
import uidgen


def moment(text):
    return datetime.fromisoformat(text.rstrip("Z")).replace(tzinfo=timezone.utc)


def read_vectors():
    names, count, begin = {}, 0, moment("1970-01-01")
    with open(sys.argv[4]) as file:
        rows = [line.split("\t")[:5] for line in file if line.count("\t") > 3]
    for kind, given, by, output, strict in rows:
        names[given] = output
        if strict.strip() != "yes":
            continue
        count += 1
        text = names.get(by, by)
        number, unit, epoch = re.search(r"time:\d+:(\d+)([mu]?s) .*epoch:(\S+)", text).groups()
        layout = uidgen.Layout(text, int(number) * {"us": 1, "ms": 1000, "s": 10**6}[unit], (moment(epoch) - begin) // timedelta(microseconds=1))
        if kind == "fields":
            values = layout.decode(int(given))
            said = " ".join([values["time"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")] + [str(values.get(name, "-")) for name in ("datacenter", "worker", "tag", "sequence")])
        else:
            tick = (moment(given) - moment(epoch)) // timedelta(microseconds=layout.unit)
            largest = {name: mask for name, (shift, mask) in layout.fields.items() if name != "zero"}
            said = "%d %d" % (layout.encode(time=tick), layout.encode(**dict(largest, time=tick)))
        if said != output:
            print(kind, given, by, "is", output, "and read as", said)
    print(count, "rows")


if sys.argv[3] == "vectors":
    read_vectors()
    sys.exit()
driver, path, batch, pause = sys.argv[2:6]
driver = importlib.import_module(driver)
signal.signal(signal.SIGTERM, lambda *ignored: sys.exit(0))


def connect():
    with open(path + ".to") as file:
        where = file.read()
    if where == "fail":
        raise SystemExit("as a library may")
    return driver.connect(where + " connect_timeout=%d" % (30 if batch == "crowd" else 2))


class Output:
    def __init__(self, path):
        self.ids, self.err = open(path, "ab", buffering=0), open(path + ".err", "a", buffering=1)
        self.ids.write(b"PGCOPY\n\377\r\n\0" + bytes(8))

    def write(self, ids):
        self.ids.write(b"".join(struct.pack(">hiq", 1, 8, id) for id in ids))

    def complain(self, error):
        print(getattr(error, "condition", "-"), " ".join(str(error).split()), file=self.err)


def draw(guest, path, batch, pause):
    output = Output(path)
    while True:
        with contextlib.suppress(FileNotFoundError), open(path + ".do") as file:
            getattr(guest, file.read())()
            os.remove(path + ".do")
        try:
            output.write(guest.next_batch(batch))
        except uidgen.NoGrant as error:
            output.complain(error)
            continue
        # In pieces, since a signal that comes just before a sleep is noticed after it.
        for _ in range(pause // 50):
            time.sleep(0.05)
        time.sleep(pause % 50 / 1000)


def draw_some(output, lock, guest):
    ids = []
    while not ids:
        try:
            ids = guest.next_batch(10)
        except uidgen.NoGrant as error:
            with lock:
                output.complain(error)
    with lock:
        output.write(ids)


def at_once(targets):
    threads = [threading.Thread(target=target) for target in targets]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]


def measure(output, guest, threads):
    guest.next()
    times = []
    for _ in range(40):
        begun = time.perf_counter_ns()
        ids = guest.next_batch(5000)
        times.append((time.perf_counter_ns() - begun) / 5000)
        output.write(ids)
    output.complain("one thread: best %.0f ns an id, median %.0f" % (min(times), sorted(times)[len(times) // 2]))
    drawn = []
    at_once([lambda: drawn.append(guest.next_batch(20000))] * threads)
    for ids in drawn:
        output.write(ids)


if batch == "crowd":
    output, lock = Output(path), threading.Lock()
    guests = [uidgen.Guest(connect, "crowd", timeout=60) for _ in range(int(pause))]
    at_once([lambda guest=guest: draw_some(output, lock, guest) for guest in guests])
    while True:
        time.sleep(1)
if batch == "threads":
    measure(Output(path), uidgen.Guest(connect, "player", timeout=60), int(pause))
    sys.exit()
guest = uidgen.Guest(connect, "player", timeout=1, registry=int(os.environ.get("PLAYER_REGISTRY", 0)))
if sys.argv[6:] == ["fork"]:
    while not guest.state().ok:
        with contextlib.suppress(uidgen.NoGrant):
            guest.next()
    if os.fork() == 0:
        draw(guest, path + ".child", int(batch), int(pause))
draw(guest, path, int(batch), int(pause))
