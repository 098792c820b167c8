package uidgen;

import java.net.InetAddress;
import java.security.SecureRandom;
import java.sql.Connection;
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
    /** There is no id now; the message says why.  Later there may be. */
    @SuppressWarnings("serial")
    public static final class NoGrant extends RuntimeException {
        NoGrant(String why) { super(why); }
    }

    /** Whether next() has an id now, of which worker id, until when the grant lasts, when the registry answered last, what went wrong since. */
    public record State(boolean ok, Long worker, Instant until, Instant lastAnswer, String error) { }

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

    /** An answer that counts: up to where ticks are this guest's, and how the registry's clock goes beside those of this machine. */
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
    private final String identity;                              // for people who look at the registry
    private final int timeout, datacenter;
    private final SecureRandom random = new SecureRandom();
    private final AtomicLong position = new AtomicLong(-1);     // of the last id: its tick and its number in that
    private volatile Grant grant;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread thread = new Thread(this::run, "uidgen");
    private volatile Instant answered;
    private volatile String error;
    // Of the thread alone
    private Connection connection;
    private long worker = -1, until = -1;                       // of the last answer, and the end of its grant
    private final List<Long> tokens = new ArrayList<>();        // that the row may have: of the last answer, and of all calls since then
    private boolean doubt;                                      // whether there are calls since then
    private long registry, timeline = -1;                       // the latest: other answers do not count

    public Guest(Callable<Connection> connect, String name) { this(connect, name, 5000, 0); }

    /** connect: makes a connection to the registry, in bounded time.  timeout: how many milliseconds a call may take, and next() wait. */
    public Guest(Callable<Connection> connect, String name, int timeout, int datacenter) {
        this.connect = connect;
        this.timeout = timeout;
        this.datacenter = datacenter;
        String host = "";
        try { host = InetAddress.getLocalHost().getHostName(); } catch (Exception e) { /* it has none */ }
        identity = String.format("%.100s@%.60s/%d/%016x", name, host, ProcessHandle.current().pid(), random.nextLong()).replaceAll("[^\\w@./-]", "_");
        thread.setDaemon(true);                                 // a program that ends does not wait for it
        Runtime.getRuntime().addShutdownHook(new Thread(this::close));
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
        return new State(usable(g), g == null ? null : g.worker, g == null ? null : g.layout.begins(g.last + 1), answered, error);
    }

    private boolean usable(Grant g) {
        long tick = g == null ? -1 : g.tick(System.nanoTime());
        return tick >= 0 && Math.max(position.get() + 1 >> g.bits, tick) <= g.last;
    }

    private synchronized void await() {
        if (thread.getState() == Thread.State.NEW)
            thread.start();
        notifyAll();                                            // once: two that wait would else wake each other all the time
        try {
            for (long limit = System.nanoTime() + timeout * 1_000_000L, left; !usable(grant); wait(left / 1_000_000 + 1)) {
                left = limit - System.nanoTime();
                if (closed.getCount() == 0 || left <= 0)
                    throw new NoGrant(closed.getCount() == 0 ? "the guest is closed" : Objects.toString(error, "the registry has not answered so far"));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new NoGrant("the thread was interrupted");
        }
    }

    /** Hand the worker id back.  There are no ids after that. */
    @Override public void close() {
        synchronized (this) {
            closed.countDown();
            grant = null;
            notifyAll();
        }
        try { thread.join(1000); } catch (InterruptedException e) { Thread.currentThread().interrupt(); }
    }

    // ---- the registry: by the thread alone ----

    private void run() {
        try {
            for (int failures = 0; closed.getCount() > 0; )
                if (!rests()) {
                    failures = ask() ? 0 : Math.min(failures + 1, 6);
                    // After a failure random, so that guests do not come back together.  Who draws faster than ticks come would else ask all the time.
                    closed.await(failures == 0 ? 250 : (long) (Math.min(100 << failures, 2000) * (0.5 + random.nextDouble() / 2)), TimeUnit.MILLISECONDS);
                }
            if (connection != null && worker >= 0)
                call(0, "guest_release(" + worker + ", '{" + known() + "}', " + datacenter + ") AS done", "done");
        } catch (Exception e) { /* it becomes free by itself */ }
        disconnect();
    }

    /** Sleeps a part of the time until the registry has to be asked; false: now. */
    private synchronized boolean rests() throws InterruptedException {
        Grant g = grant;
        long left = g == null || doubt || g.stale ? 0 : (g.renewAt - Math.max(g.tick(System.nanoTime()), position.get() >> g.bits)) * g.unit;
        if (left > 0)
            wait(Math.min(left / 1_000_000 + 1, 1000));
        return left > 0;
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
                : "guest_acquire('" + identity + "', " + token + ", '{" + known() + "}', " + worker + ", " + until + ", " + datacenter + ")";
            tokens.add(token);                                  // before it is sent: if the answer is lost, the row may have it
            if (tokens.size() > 100)
                tokens.remove(0);
            doubt = true;
            long asked = System.nanoTime(), apart = System.currentTimeMillis() * 1_000_000 - asked;    // the machine may sleep while the answer is on its way
            Object[] row = call(token, call, "clock, registry_id, timeline, last_tick" + (renews ? "" : ", first_tick, worker, layout, unit, epoch"));
            long heard = System.nanoTime();
            if (heard - asked > timeout * 1_000_000L)
                throw new NoGrant("the registry took too long to answer");
            if (timeline >= 0 && ((Long) row[2] != registry || number(row[3]) < timeline))
                throw new NoGrant("this is another registry than before, or was left behind by a failover");
            registry = number(row[2]);
            timeline = number(row[3]);
            answered = Instant.now();
            error = row[4] != null ? null : renews ? "another guest has the worker id, or the registry has lost a renewal"
                : "the registry cannot grant so far ahead of its clock yet";
            if (error != null)
                return false;                                   // what was granted stays this guest's; the row is asked for by all tokens, and by its end
            long more = number(row[4]) - until;
            take(new Grant(renews ? g.layout : new Layout((String) row[7], number(row[8]), number(row[9])), renews ? worker : number(row[6]), datacenter,
                number(row[4]), number(row[1]), heard, apart), renews ? 0 : number(row[5]));
            tokens.subList(0, tokens.size() - 1).clear();
            doubt = false;
            return more > 0;
        } catch (Exception e) {
            error = String.valueOf(e.getMessage());
            disconnect();
            return false;
        }
    }

    private synchronized void take(Grant g, long first) {
        if (worker != g.worker) {
            grant = null;
            position.updateAndGet(p -> (p | g.mask) + 1);       // the other worker id may be lower, so it begins with another tick
        }
        position.accumulateAndGet((first << g.bits) - 1, Math::max);
        worker = g.worker;
        until = g.last;
        grant = closed.getCount() > 0 ? g : null;
        notifyAll();
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
                throw new NoGrant("the answer is not certain");
            return row;
        }
    }

    private void disconnect() {
        try { if (connection != null) connection.abort(Runnable::run); } catch (Exception e) { /* it was no more */ }
        connection = null;
    }

    private static long number(Object column) { return ((Number) column).longValue(); }
    private String known() { return tokens.toString().replaceAll("[^0-9,]", ""); }
}
