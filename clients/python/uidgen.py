"""Ids of uidgen in a program's own process, by a worker id that it leases from a registry.

    import psycopg, uidgen
    guest = uidgen.Guest(lambda: psycopg.connect("host=registry dbname=uidgen user=app connect_timeout=3"), "billing")
    guest.next()
    guest.next_batch(100)
    guest.layout.decode(guest.next())

A process needs one Guest, for all of its threads.  docs/protocol.md has the rules.  Needs Python 3.7, and psycopg 3, psycopg2 or the like.
"""
import atexit, multiprocessing.util, os, random, re, socket, threading, time, weakref
from collections import namedtuple
from contextlib import suppress
from datetime import datetime, timedelta, timezone

_SECOND = 10**9
_guests = weakref.WeakSet()
_abandoned = []     # connections of a parent process or of a snapshot's origin, which nobody else must close


class NoGrant(Exception):
    """There is no id now; condition, of those in docs/protocol.md, and the message say why.  Later there may be."""

    def __init__(self, condition, why):
        super().__init__(why)
        self.condition = condition


# Whether next() has an id now, of which worker id, until when the grant lasts, when the registry answered last, what went wrong since.
State = namedtuple("State", "ok worker until last_answer condition error")


class Layout:
    """Where the fields of an id lie: a layout in canonical form, with its unit and epoch in microseconds."""

    def __init__(self, text, unit, epoch):
        self.text, self.unit, self.epoch = text, unit, epoch
        self.fields = {}                                    # name: (shift, mask)
        shift = 0
        for name, bits in reversed(re.findall(r"(\w+):(\d+)(?= |:\d+[mu]?s )", text)):
            self.fields[name] = (shift, (1 << int(bits)) - 1)
            shift += int(bits)
        if "time" not in self.fields or "worker" not in self.fields or shift > 63:
            raise ValueError("cannot make ids of the layout %r" % text)

    def encode(self, **values):
        for name, value in values.items():
            if not 0 <= value <= self.fields[name][1]:
                raise ValueError("%s has no room for %s" % (name, value))
        return sum(value << self.fields[name][0] for name, value in values.items())

    def decode(self, id):
        """A dictionary of the fields; time is a datetime in UTC."""
        values = {name: id >> shift & mask for name, (shift, mask) in self.fields.items() if name != "zero"}
        return dict(values, time=self.begins(values["time"]))

    def begins(self, tick):
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=tick * self.unit + self.epoch)


class Guest:
    """connect: returns a new connection to the registry, and has a time-out of its own.  timeout: how long, in seconds, a call of the registry
    may take, and how long next() waits where there is no grant.  registry: the number of the registry that is meant, or 0 for whichever answers first."""

    def __init__(self, connect, name, timeout=5.0, datacenter=0, registry=0):
        self._connect, self._name, self._timeout, self._datacenter, self._wanted = connect, name, timeout, datacenter, registry
        self._closed = False
        self.layout = None                                  # known once there is an id
        self._pos, self._mask = -1, 0                       # of the last id: its tick and its number in that; the bits of that number
        self._registry = None                               # its number and the latest timeline: other answers do not count
        self._begin()
        _guests.add(self)

    def _begin(self):
        """As a process that has never asked."""
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)        # for the thread
        self._changed = threading.Condition(self._lock)     # for those who wait
        self._stop, self._thread, self._asking, self._stale = threading.Event(), None, False, False
        self._identity = "%s@%s/%d/%016x" % (self._name[:100], socket.gethostname()[:60], os.getpid(), random.SystemRandom().getrandbits(64))
        self._worker, self._last, self._renew_at, self._tick_ends = None, -1, -1, 0
        self._tokens, self._doubt = [], False               # that the row may have: of the last answer, and of all calls since then; whether there are any
        self._claim = (-1, -1)
        self._error, self._answered, self._connection = None, None, None    # the error as NoGrant has it

    # ---- ids ----

    def next(self):
        with self._lock:
            while True:
                pos = self._pos + 1
                # Within a tick it is the next one.
                if time.monotonic_ns() >= self._tick_ends:
                    now = self._now()
                    if now is None:
                        self._wait()
                        continue
                    pos = max(pos, now << self._bits)
                tick = pos >> self._bits
                if tick >= self._renew_at and not self._asking:
                    self._wake.notify_all()
                # All of the grant is this guest's alone, so an id may be ahead of the clock.
                if tick > self._last:
                    self._wait()
                    continue
                self._pos = pos
                return tick << self._time_shift | self._fixed | (pos & self._mask) << self._sequence_shift

    def next_batch(self, count):
        return [self.next() for _ in range(count)]

    def _now(self):
        """The tick that the registry's clock shows, by a clock that nobody sets; None: the registry has to be asked."""
        now = time.monotonic_ns()
        if self._worker is None or abs(time.time_ns() - now - self._apart) > _SECOND:
            self._stale, self._tick_ends = True, 0          # the machine slept, or its clock was set
            return None
        tick = (now + self._base) // self._unit
        self._tick_ends = min((tick + 1) * self._unit - self._base, now + _SECOND // 100)
        return tick

    def _usable(self):
        now = self._now()
        return now is not None and max(self._pos + 1 >> self._bits, now) <= self._last

    def _wait(self):
        if not self._closed and (self._thread is None or not self._thread.is_alive()):
            # A daemon: a program that ends does not wait for it.
            thread = threading.Thread(target=_run, args=(weakref.ref(self), self._identity), name="uidgen", daemon=True)
            try:
                thread.start()
                self._thread = thread
            except RuntimeError as error:                   # no more threads now: whoever waits next tries again
                self._error = "no_answer", str(error)
        limit = time.monotonic() + self._timeout
        while not self._usable():
            left = limit - time.monotonic()
            if left <= 0 or self._closed:
                raise NoGrant(*("closed", "the guest is closed") if self._closed else self._error or ("no_answer", "the registry has not answered so far"))
            self._wake.notify_all()
            self._changed.wait(left)

    def state(self):
        with self._lock:
            has = self._worker is not None
            return State(has and self._usable(), self._worker, self.layout.begins(self._last + 1) if has else None, self._answered, *self._error or (None, None))

    def close(self):
        """Hand the worker id back.  There are no ids after that."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._hand_back()

    def drop(self):
        """Hand the worker id back before a snapshot of the process is made; the next id waits for another one."""
        self._hand_back()
        self.restored()

    def restored(self):
        """This process goes on from a snapshot, perhaps beside others: what was granted may be anybody's."""
        _abandoned.append(self._connection)
        self._begin()

    def _hand_back(self):
        with self._lock:
            worker, tokens = self._worker, self._tokens
            # First: nobody goes on with it.
            self._identity, self._worker, self._last, self._tick_ends, self._tokens = None, None, -1, 0, []
            self._stop.set()
            self._wake.notify_all()
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(1)
        if worker is not None and self._connection is not None and not self._asking:
            with suppress(Exception):                       # it becomes free by itself
                self._call("SELECT uidgen_registry.guest_release(%s::integer, %s::bigint[], %s::integer)", (worker, tokens, self._datacenter), 1)
        self._disconnect()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    # ---- the registry: by the thread alone ----

    def _due(self):
        """In how many seconds to ask."""
        now = None if self._stale else self._now()
        at = None if now is None else max(now, self._pos >> self._bits)
        return 0 if at is None or self._doubt else max(0, self._renew_at - at) * self.layout.unit / 1e6

    def _ask(self):
        """One call.  Returns whether there is more of a grant than before."""
        self._open()
        token = random.SystemRandom().getrandbits(63)
        with self._lock:
            last, renews = self._last, self._worker is not None and not self._doubt
            if renews:
                query = ("SELECT last_tick, %s::bigint, registry_id, timeline, clock FROM uidgen_registry.guest_renew"
                         "(%s::integer, %s::bigint, %s::bigint, %s::bigint, %s::bigint, %s::integer)")
                values = (token, self._worker, self._tokens[0], last, token, self._pos + 1 >> self._bits, self._datacenter)
            else:
                query = ("SELECT worker, first_tick, last_tick, layout, unit, epoch, %s::bigint, registry_id, timeline, clock FROM uidgen_registry.guest_acquire"
                         "(%s::text, %s::bigint, %s::bigint[], %s::integer, %s::bigint, %s::integer, %s::bigint)")
                values = (token, self._identity, token, self._tokens) + self._claim + (self._datacenter, self._wanted)
            identity = self._identity
            # Before it is sent: if the answer is lost, the row may have it.  Where all calls fail, the row has the first one, of the last answer.
            self._tokens, self._doubt = self._tokens[:1] + self._tokens[1:][-98:] + [token], True
        asked, wall = time.monotonic_ns(), time.time_ns()   # the machine may sleep while the answer is on its way
        row = self._call(query, values, self._timeout)
        heard = time.monotonic_ns()
        answers, registry_id, timeline, clock = row[-4:]
        with self._lock:
            if heard - asked > self._timeout * _SECOND or answers != token:
                raise NoGrant("no_answer", "the registry did not answer within %s s" % self._timeout)
            if self._wanted and registry_id != self._wanted:
                raise NoGrant("other_registry", "another registry than configured: %s" % registry_id)
            if self._registry is not None and registry_id != self._registry[0]:
                raise NoGrant("other_registry", "another registry than before: %s" % registry_id)
            if self._registry is not None and timeline < self._registry[1]:
                raise NoGrant("left_behind", "the registry was left behind by a failover")
            if self._identity != identity:
                return False                                # closed or dropped meanwhile
            self._registry, self._answered, self._error = (registry_id, timeline), datetime.now(timezone.utc), None
            if row[0] is not None:
                if renews:
                    self._last = row[0]
                else:
                    self._take(*row[:6])
                self._tokens, self._doubt, self._claim = [token], False, (self._worker, self._last)
            elif renews:
                # What was granted stays this guest's.  The row is asked for by all tokens, and by its end.
                self._error = "lost", "another guest has the worker id, or the registry has lost a renewal"
            else:
                self._error = "ahead", "the registry cannot grant so far ahead of its clock yet: it is in quarantine, or the last grant of the worker id lies ahead"
            if self._worker is not None:
                self._apart, self._stale, self._tick_ends = wall - asked, False, 0
                self._base, self._unit = (clock - self.layout.epoch) * 1000 - heard, self.layout.unit * 1000
                self._renew_at = self._last - max((self._last - (heard + self._base) // self._unit) // 2, 1)
            self._changed.notify_all()
            return self._last > last

    def _take(self, worker, first, last, text, unit, epoch):
        if worker != self._worker:
            self._pos |= self._mask                         # the other worker id may be lower, so it begins with another tick
        self.layout = layout = Layout(text, unit, epoch)
        self._time_shift = layout.fields["time"][0]
        self._sequence_shift, self._mask = layout.fields.get("sequence", (0, 0))
        self._bits = self._mask.bit_length()
        self._fixed = layout.encode(worker=worker, **({"datacenter": self._datacenter} if "datacenter" in layout.fields else {}))
        self._worker, self._last = worker, last
        self._pos = max(self._pos, (first << self._bits) - 1)

    def _open(self):
        if self._connection is None:
            self._connection = self._connect()
            self._connection.autocommit = True
            self._notices = []
            if hasattr(self._connection, "add_notice_handler"):
                self._connection.add_notice_handler(self._notices.append)
                self._connection.prepare_threshold = None       # a pooler may lie between

    def _call(self, query, values, timeout):
        """One statement, one row.  Whatever is unusual is an error."""
        # Nobody else ends a call that has no answer.  At the exit of a program there may be no thread for that; then there is no call.
        with socket.socket(fileno=os.dup(self._connection.fileno())) as end:
            timer = threading.Timer(timeout, _cut, (end,))
            timer.start()
            try:
                cursor = self._connection.cursor()
                cursor.execute(query, values)
                rows = cursor.fetchall()
            finally:
                timer.cancel()
        # A warning is how PostgreSQL says that a commit is not on the standby.
        if len(rows) != 1 or self._notices or getattr(self._connection, "notices", None):
            raise NoGrant("uncertain", "the answer is not certain")
        # Where the database is SQL_ASCII, psycopg 3 gives bytes for text.
        return [value.decode() if isinstance(value, bytes) else value for value in rows[0]]

    def _disconnect(self):
        connection, self._connection = self._connection, None
        with suppress(Exception):
            connection.close()


def _cut(end):
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _run(reference, identity):
    """The thread of a guest, which keeps the grant for as long as somebody has the guest."""
    failures = 0
    while True:
        guest = reference()
        if guest is None or guest._identity != identity:
            return
        with guest._lock:
            if guest._closed:
                return
            pause = guest._due()
            if pause > 0:
                guest._wake.wait(min(pause, 1))
                continue
            guest._asking, stop, failure = True, guest._stop, None
        try:
            failures = 0 if guest._ask() else failures + 1
        except BaseException as error:                      # SystemExit of a library, too: nobody else asks
            failures, failure = failures + 1, error
        with guest._lock:
            if guest._stop is not stop:
                return                                      # the guest has begun anew, with a thread and a connection of its own
            guest._asking = False
            if failure is not None:
                state = getattr(failure, "sqlstate", None) or getattr(failure, "pgcode", None) or "08"
                guest._error = getattr(failure, "condition", "no_answer" if state.startswith("08") else "refused"), str(failure).strip() or repr(failure)
                guest._disconnect()                         # whatever was unusual: what was done is not known
        del guest
        # After a failure random, so that guests do not come back together.  Who draws faster than ticks come would else ask all the time.
        stop.wait(random.uniform(0.5, 1) * min(0.1 * 2 ** min(failures, 6), 2) if failures else 0.25)


def _close_all():
    for guest in list(_guests):
        guest.close()


def _restore_all():
    for guest in list(_guests):
        guest.restored()


atexit.register(_close_all)
# Children of multiprocessing end without atexit.
multiprocessing.util.register_after_fork(_close_all, lambda close_all: multiprocessing.util.Finalize(None, close_all, exitpriority=-100))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore_all)
# AWS Lambda makes a snapshot of a process that has begun, and restores it many times.
with suppress(ImportError):
    import snapshot_restore_py
    snapshot_restore_py.register_before_snapshot(lambda: [guest.drop() for guest in list(_guests)])
    snapshot_restore_py.register_after_restore(_restore_all)
