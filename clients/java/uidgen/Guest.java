package uidgen;

import java.net.InetAddress;
import java.security.SecureRandom;
import java.sql.*;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.*;

/**
 * Ids of uidgen in a program's own process, by a worker id that it leases from a registry.
 * <pre>
 * Guest guest = new Guest(() -&gt; DriverManager.getConnection("jdbc:postgresql://registry/uidgen?user=app&amp;connectTimeout=3"), "billing");
 * guest.next();
 * guest.nextBatch(100);
 * guest.layout().decode(guest.next());
 * </pre>
 * A process needs one Guest, for all of its threads.  docs/protocol.md has the rules.  Needs Java 17, and PostgreSQL's JDBC driver.
 */
public final class Guest implements AutoCloseable {
    /** There is no id now; condition, of those in docs/protocol.md, and the message say why.  Later there may be. */
    @SuppressWarnings("serial")
    public static final class NoGrant extends RuntimeException {
        public final String condition;

        NoGrant(String condition, String why) {
            super(why);
            this.condition = condition;
        }
    }

    /** Whether next() has an id now, of which worker id, until when the grant lasts, when the registry answered last, what went wrong since. */
    public record State(boolean ok, Long worker, Instant until, Instant lastAnswer, String condition, String error) { }

    /** A layout in canonical form, with its unit and epoch in microseconds. */
    public record Layout(String text, long unit, long epoch) {
        /** Where each field of an id lies: its lowest bit, and how many it has. */
        Map<String, int[]> fields() {
            Map<String, int[]> fields = new LinkedHashMap<>();
            int shift = 63;
            for (Matcher m = Pattern.compile("(\\w+):(\\d+)(:\\d+[mu]?s)?(?= )").matcher(text); m.find(); )
                fields.put(m.group(1), new int[] {shift -= Integer.parseInt(m.group(2)), Integer.parseInt(m.group(2))});
            for (int[] field : fields.values())
                field[0] -= shift;
            return fields;
        }

        /** The values of the fields of an id; time is an Instant. */
        public Map<String, Object> decode(long id) {
            Map<String, Object> values = new LinkedHashMap<>();
            fields().forEach((name, field) -> values.put(name, id >> field[0] & (1L << field[1]) - 1));
            values.remove("zero");
            values.replace("time", begins((Long) values.get("time")));
            return values;
        }

        public Instant begins(long tick) { return Instant.EPOCH.plus(epoch, ChronoUnit.MICROS).plus(tick * unit, ChronoUnit.MICROS); }
    }

    /** An accepted answer: the last tick granted to this guest, and the registry's clock against the clocks of this machine. */
    private static final class Grant {
        static final long SECOND = 1_000_000_000L;
        final Layout layout;
        final int bits, timeShift, sequenceShift;
        final long worker, last, renewAt, fixed, mask, unit, base, apart;
        volatile long tickEnds;             // until then the clock shows the same tick
        volatile boolean stale, waked;

        Grant(Layout layout, long worker, long datacenter, long last, long clock, long heard, long apart) {
            Map<String, int[]> fields = layout.fields();
            int[] sequence = fields.getOrDefault("sequence", new int[2]), place = fields.getOrDefault("datacenter", new int[2]);
            this.layout = layout;
            this.worker = worker;
            this.last = last;
            timeShift = fields.get("time")[0];
            sequenceShift = sequence[0];
            bits = sequence[1];
            mask = (1L << bits) - 1;
            fixed = worker << fields.get("worker")[0] | datacenter << place[0];
            unit = layout.unit * 1000;
            base = (clock - layout.epoch) * 1000 - heard;
            this.apart = apart;
            tickEnds = heard;
            renewAt = last - Math.max((last - Math.floorDiv(heard + base, unit)) / 2, 1);
        }

        /** The tick that the registry's clock shows, by a clock that nobody sets; -1: the registry has to be asked. */
        long tick(long now) {
            // The machine slept, or its clock was set.
            stale |= Math.abs(System.currentTimeMillis() * 1_000_000 - now - apart) > SECOND;
            long tick = Math.floorDiv(now + base, unit);
            tickEnds = stale ? now : Math.min((tick + 1) * unit - base, now + SECOND / 100);
            return stale ? -1 : tick;
        }
    }

    private final Callable<Connection> connect;
    private final String name;
    private final int timeout, datacenter;
    private final long wanted;                                  // the number of the registry; 0: of whichever answers first
    private final SecureRandom random = new SecureRandom();
    private final AtomicLong position = new AtomicLong(-1);     // of the last id: its tick and its number in that
    private final Thread hook = new Thread(this::close);
    private final Object snapshots = Snapshots.register(this);  // kept, since the runtime does not keep it
    private volatile Grant grant;
    private volatile boolean closed;
    private volatile Instant answered;
    private volatile NoGrant error;
    private volatile Keeper keeper;
    private volatile long registry, timeline = -1;              // the latest: other answers do not count

    public Guest(Callable<Connection> connect, String name) { this(connect, name, 5000, 0, 0); }

    /** connect: makes a connection to the registry, in bounded time.  timeout: how many milliseconds a call may take, and next() wait.
     *  registry: the number of the registry that is meant, or 0. */
    public Guest(Callable<Connection> connect, String name, int timeout, int datacenter, long registry) {
        this.connect = connect;
        this.name = name;
        this.timeout = timeout;
        this.datacenter = datacenter;
        wanted = registry;
        keeper = new Keeper();
        try { Runtime.getRuntime().addShutdownHook(hook); } catch (IllegalStateException e) { /* it ends already */ }
    }

    public long next() {
        while (true) {
            Grant g = grant;
            long before = position.get(), now = System.nanoTime();
            // Before a grant of another worker id, grant is null, and then position is raised.  Who has seen neither fails below.
            if (g != null && g == grant) {
                long tick = now - g.tickEnds < 0 ? 0 : g.tick(now);     // within a tick it is the next one
                long pos = Math.max(before + 1, tick << g.bits);
                if (pos >> g.bits >= g.renewAt && !g.waked)
                    synchronized (this) { g.waked = true; notifyAll(); }
                // All of the grant is this guest's alone, so an id may be ahead of the clock.
                if (tick >= 0 && pos >> g.bits <= g.last) {
                    if (position.compareAndSet(before, pos))
                        return pos >> g.bits << g.timeShift | g.fixed | (pos & g.mask) << g.sequenceShift;
                    continue;
                }
            }
            await();
        }
    }

    public long[] nextBatch(int count) { return java.util.stream.LongStream.generate(this::next).limit(count).toArray(); }

    /** Null until there is an id. */
    public Layout layout() {
        Grant g = grant;
        return g == null ? null : g.layout;
    }

    public State state() {
        Grant g = grant;
        NoGrant e = error;
        return new State(usable(g), g == null ? null : g.worker, g == null ? null : g.layout.begins(g.last + 1), answered, e == null ? null : e.condition,
            e == null ? null : e.getMessage());
    }

    private boolean usable(Grant g) {
        long tick = g == null ? -1 : g.tick(System.nanoTime());
        return tick >= 0 && Math.max(position.get() + 1 >> g.bits, tick) <= g.last;
    }

    private synchronized void await() {
        keeper.start();
        notifyAll();                                            // once: two that wait would else wake each other all the time
        try {
            for (long limit = System.nanoTime() + timeout * 1_000_000L, left; !usable(grant); wait(left / 1_000_000 + 1)) {
                left = limit - System.nanoTime();
                NoGrant e = error;
                if (closed || left <= 0)
                    throw closed ? new NoGrant("closed", "the guest is closed") : e == null ? new NoGrant("no_answer", "the registry has not answered so far")
                        : new NoGrant(e.condition, e.getMessage());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new NoGrant("interrupted", "the thread was interrupted");
        }
    }

    /** Hand the worker id back.  There are no ids after that. */
    @Override public void close() {
        closed = true;
        keeper.end();
        if (Thread.currentThread() != hook)
            try { Runtime.getRuntime().removeShutdownHook(hook); } catch (IllegalStateException e) { /* it ends already */ }
    }

    /** Hand the worker id back before a snapshot of the process is made; the next id waits for another one. */
    public void drop() {
        keeper.end();
        restored();
    }

    /** This process goes on from a snapshot, perhaps beside others: what was granted may be anybody's. */
    public synchronized void restored() {
        keeper.ends.countDown();
        grant = null;
        keeper = new Keeper();
        notifyAll();
    }

    /** One life of a guest in the registry, by a thread of its own: from a process or a snapshot that begins to its end. */
    private final class Keeper {
        private final String identity;                          // for people who look at the registry
        private final CountDownLatch ends = new CountDownLatch(1);
        private Thread thread;                                  // under the lock of the guest
        private Connection connection;
        private long worker = -1, until = -1;                   // of the last answer, and the end of its grant
        private final List<Long> tokens = new ArrayList<>();    // that the row may have: of the last answer, and of all calls since then
        private boolean doubt;                                  // whether there are calls since then

        Keeper() {
            String host = "";
            try { host = InetAddress.getLocalHost().getHostName(); } catch (Exception e) { /* it has none */ }
            identity = String.format("%.100s@%.60s/%d/%016x", name, host, ProcessHandle.current().pid(), random.nextLong()).replaceAll("[^\\w@./-]", "_");
        }

        /** Whoever waits looks after the thread: an error that nobody caught may have ended it. */
        void start() {
            if (ends.getCount() == 0 || thread != null && thread.isAlive())
                return;
            Thread started = new Thread(this::run, "uidgen");
            started.setDaemon(true);                            // a program that ends does not wait for it
            try {
                started.start();
                thread = started;
            } catch (Throwable e) { error = new NoGrant("no_answer", String.valueOf(e)); }     // no more threads now: whoever waits next tries again
        }

        void end() {
            Thread running;
            synchronized (Guest.this) {
                ends.countDown();
                if (keeper == this)
                    grant = null;
                running = thread;
                Guest.this.notifyAll();
            }
            if (running != null && running != Thread.currentThread())
                try { running.join(1000); } catch (InterruptedException e) { Thread.currentThread().interrupt(); }
        }

        private void run() {
            for (int failures = 0; ends.getCount() > 0; )
                try {
                    if (!rests()) {
                        failures = ask() ? 0 : Math.min(failures + 1, 6);
                        // After a failure random, so that guests do not come back together.  Who draws faster than ticks come would else ask all the time.
                        ends.await(failures == 0 ? 250 : (long) (Math.min(100 << failures, 2000) * (0.5 + random.nextDouble() / 2)), TimeUnit.MILLISECONDS);
                    }
                } catch (InterruptedException e) { /* end() ends it, nobody else */ }
            try {
                if (connection != null && worker >= 0 && keeper == this)
                    call(0, "guest_release(" + worker + ", '{" + known() + "}', " + datacenter + ") AS done", "done");
            } catch (Exception e) { /* it becomes free by itself */ }
            disconnect();
        }

        /** Sleeps a part of the time until the registry has to be asked; false: now. */
        private boolean rests() throws InterruptedException {
            synchronized (Guest.this) {
                Grant g = grant;
                long left = g == null || doubt || g.stale ? 0 : (g.renewAt - Math.max(g.tick(System.nanoTime()), position.get() >> g.bits)) * g.unit;
                if (left > 0 && ends.getCount() > 0)
                    Guest.this.wait(Math.min(left / 1_000_000 + 1, 1000));
                return left > 0;
            }
        }

        /** One call.  Returns whether there is more of a grant than before. */
        private boolean ask() {
            try {
                connect();
                Grant g = grant;
                boolean renews = g != null && !doubt;
                long token = random.nextLong() >>> 1;
                String call = renews
                    ? "guest_renew(" + worker + ", " + tokens.get(0) + ", " + until + ", " + token + ", " + (position.get() + 1 >> g.bits) + ", " + datacenter + ")"
                    : "guest_acquire('" + identity + "', " + token + ", '{" + known() + "}', " + worker + ", " + until + ", " + datacenter + ", " + wanted + ")";
                tokens.add(token);                              // before it is sent: if the answer is lost, the row may have it
                if (tokens.size() > 100)
                    tokens.remove(1);                           // where all calls fail, the row has the first one, of the last answer
                doubt = true;
                long asked = System.nanoTime(), apart = System.currentTimeMillis() * 1_000_000 - asked;    // the machine may sleep while the answer is on its way
                Object[] row = call(token, call, "clock, registry_id, timeline, last_tick" + (renews ? "" : ", first_tick, worker, layout, unit, epoch"));
                long heard = System.nanoTime();
                if (heard - asked > timeout * 1_000_000L)
                    throw new NoGrant("no_answer", "the registry took too long to answer");
                if (wanted != 0 && (Long) row[2] != wanted)
                    throw new NoGrant("other_registry", "another registry than configured: " + row[2]);
                if (timeline >= 0 && (Long) row[2] != registry)
                    throw new NoGrant("other_registry", "another registry than before: " + row[2]);
                if (timeline >= 0 && number(row[3]) < timeline)
                    throw new NoGrant("left_behind", "the registry was left behind by a failover");
                registry = number(row[2]);
                timeline = number(row[3]);
                answered = Instant.now();
                error = row[4] != null ? null : renews ? new NoGrant("lost", "another guest has the worker id, or the registry has lost a renewal")
                    : new NoGrant("ahead", "the registry cannot grant so far ahead of its clock yet: it is in quarantine, or the last grant of the worker id lies ahead");
                if (error != null)
                    return false;                               // what was granted stays this guest's; the row is asked for by all tokens, and by its end
                long more = number(row[4]) - until;
                take(new Grant(renews ? g.layout : new Layout((String) row[7], number(row[8]), number(row[9])), renews ? worker : number(row[6]), datacenter,
                    number(row[4]), number(row[1]), heard, apart), renews ? 0 : number(row[5]));
                tokens.subList(0, tokens.size() - 1).clear();
                doubt = false;
                return more > 0;
            } catch (Throwable e) {
                Thread.interrupted();                           // a pool sets it again; with it, each later wait would fail
                error = e instanceof NoGrant known ? known : new NoGrant(e instanceof SQLException refused && refused.getSQLState() != null && !refused.getSQLState().startsWith("08")
                    ? "refused" : "no_answer", e instanceof Exception && e.getMessage() != null ? e.getMessage() : String.valueOf(e));
                disconnect();
                return false;
            }
        }

        private void take(Grant g, long first) {
            synchronized (Guest.this) {
                boolean ended = ends.getCount() == 0;
                if (worker != g.worker && !ended) {
                    grant = null;
                    position.updateAndGet(p -> (p | g.mask) + 1);   // the other worker id may be lower, so it begins with another tick
                }
                worker = g.worker;
                until = g.last;
                if (ended)
                    return;
                position.accumulateAndGet((first << g.bits) - 1, Math::max);
                grant = g;
                Guest.this.notifyAll();
            }
        }

        private void connect() throws Exception {
            if (connection == null) {
                connection = connect.call();
                connection.setAutoCommit(true);
                connection.setNetworkTimeout(Runnable::run, timeout);
                connection.clearWarnings();
            }
        }

        /** One statement, one row, which begins with the token: so it answers this call.  Whatever is unusual is an error: then what was done is not known. */
        private Object[] call(long token, String call, String columns) throws Exception {
            // No PreparedStatement: the driver would name it after some calls, and a pooler may lie between.
            try (var statement = connection.createStatement(); var answer = statement.executeQuery("SELECT " + token + ", " + columns + " FROM uidgen_registry." + call)) {
                Object[] row = new Object[answer.getMetaData().getColumnCount()];
                boolean certain = answer.next();
                for (int i = 0; certain && i < row.length; i++)
                    row[i] = answer.getObject(i + 1);
                // A warning is how PostgreSQL says that a commit is not on the standby.
                if (!certain || number(row[0]) != token || answer.next() || statement.getWarnings() != null || connection.getWarnings() != null)
                    throw new NoGrant("uncertain", "the answer is not certain");
                return row;
            }
        }

        private void disconnect() {
            try { if (connection != null) connection.abort(Runnable::run); } catch (Exception e) { /* it was no more */ }
            connection = null;
        }

        private String known() { return tokens.toString().replaceAll("[^0-9,]", ""); }
    }

    private static long number(Object column) { return ((Number) column).longValue(); }

    /** Where the runtime makes snapshots of processes (CRaC, Lambda SnapStart), it says so by org.crac, which may be missing. */
    private static final class Snapshots {
        static Object register(Guest guest) {
            try {
                Class<?> resource = Class.forName("org.crac.Resource");
                Object proxy = java.lang.reflect.Proxy.newProxyInstance(resource.getClassLoader(), new Class<?>[] {resource}, (self, method, arguments) -> switch (method.getName()) {
                    case "beforeCheckpoint" -> { guest.drop(); yield null; }
                    case "afterRestore" -> { guest.restored(); yield null; }
                    case "hashCode" -> System.identityHashCode(self);
                    case "equals" -> self == arguments[0];
                    default -> "uidgen";
                });
                Object context = Class.forName("org.crac.Core").getMethod("getGlobalContext").invoke(null);
                Class.forName("org.crac.Context").getMethod("register", resource).invoke(context, proxy);
                return proxy;
            } catch (ReflectiveOperationException | LinkageError e) {
                return null;
            }
        }
    }
}
