// Player.java: a guest that draws ids all the time, for test/perl/Guests.pm, as player.py does; without CLIENT, DRIVER and fork, and with FILE behind "vectors".
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.sql.*;
import java.time.*;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.regex.*;
import uidgen.Guest;

public class Player {
    static String path;
    static boolean crowd;
    static DataOutputStream ids;
    static PrintStream err;

    static Connection connect() throws Exception {
        if (Files.readString(Path.of(path + ".to")).equals("fail")) {
            Thread.currentThread().interrupt();
            throw new OutOfMemoryError("as it may be");
        }
        Matcher m = Pattern.compile("host=(\\S+) port=(\\S+) dbname=(\\S+) user=(\\S+)").matcher(Files.readString(Path.of(path + ".to")).strip());
        if (!m.matches())
            throw new IOException("no place");
        String hosts = "";
        for (int i = 0; i < m.group(2).split(",").length; i++)
            hosts += (i > 0 ? "," : "") + m.group(1).split(",")[i] + ":" + m.group(2).split(",")[i];
        return DriverManager.getConnection("jdbc:postgresql://" + hosts + "/" + m.group(3) + "?user=" + m.group(4) + "&connectTimeout=" + (crowd ? 30 : 2)
            + (hosts.contains(",") ? "&targetServerType=primary" : ""));
    }

    static synchronized void write(long[] drawn) throws IOException {
        ByteBuffer rows = ByteBuffer.allocate(14 * drawn.length);
        for (long id : drawn)
            rows.putShort((short) 1).putInt(8).putLong(id);
        ids.write(rows.array());
    }

    static synchronized void complain(Exception e) { err.println((e instanceof Guest.NoGrant no ? no.condition : "-") + " " + e.getMessage().replaceAll("\\s+", " ")); }

    /** As player.py does, of the rows of FILE. */
    static void readVectors(String file) throws IOException {
        Map<String, String> names = new HashMap<>();
        int count = 0;
        for (String line : Files.readAllLines(Path.of(file))) {
            String[] row = line.split("\t");
            if (row[0].equals("layout"))
                names.put(row[1], row[3]);
            if (line.startsWith("#") || !row[0].equals("fields") || !row[4].equals("yes"))
                continue;
            count++;
            String text = names.getOrDefault(row[2], row[2]), said = "";
            Matcher m = Pattern.compile("time:\\d+:(\\d+)([mu]?s) .*epoch:(\\S+)").matcher(text);
            m.find();
            Instant epoch = Instant.parse(m.group(3).replaceAll("^[0-9-]*$", "$0T00:00:00Z"));
            long unit = Long.parseLong(m.group(1)) * Map.of("us", 1L, "ms", 1000L, "s", 1000000L).get(m.group(2));
            Map<String, Object> values = new Guest.Layout(text, unit, ChronoUnit.MICROS.between(Instant.EPOCH, epoch)).decode(Long.parseLong(row[1]));
            String[] wanted = row[3].split("(?= )", 2);
            for (String name : List.of("datacenter", "worker", "tag", "sequence"))
                said += " " + values.getOrDefault(name, "-");
            if (!values.get("time").equals(Instant.parse(wanted[0])) || !said.equals(wanted[1]))
                System.out.println(line + ": read as " + values.get("time") + said);
        }
        System.out.println(count + " rows");
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("vectors")) {
            readVectors(args[1]);
            return;
        }
        path = args[0];
        ids = new DataOutputStream(new FileOutputStream(path, true));
        err = new PrintStream(new FileOutputStream(path + ".err", true), true);
        ids.write(new byte[] {'P', 'G', 'C', 'O', 'P', 'Y', '\n', (byte) 0377, '\r', '\n', 0, 0, 0, 0, 0, 0, 0, 0, 0});
        crowd = args[1].equals("crowd");
        if (crowd) {
            for (int i = 0; i < Integer.parseInt(args[2]); i++)
                new Thread(Player::drawSome).start();
            Thread.sleep(Long.MAX_VALUE);
        }
        if (args[1].equals("threads")) {
            measure(new Guest(Player::connect, "player", 60000, 0, 0), Integer.parseInt(args[2]));
            return;
        }
        Guest guest = new Guest(Player::connect, "player", 1000, 0, Long.parseLong(System.getenv().getOrDefault("PLAYER_REGISTRY", "0")));
        while (true) {
            Path todo = Path.of(path + ".do");
            if (Files.exists(todo)) {
                Guest.class.getMethod(Files.readString(todo)).invoke(guest);
                Files.delete(todo);
            }
            try {
                write(guest.nextBatch(Integer.parseInt(args[1])));
            } catch (Guest.NoGrant e) {
                complain(e);
                continue;
            }
            Thread.sleep(Integer.parseInt(args[2]));
        }
    }

    static void measure(Guest guest, int count) throws Exception {
        guest.next();
        long[] ids = new long[20000], took = new long[600];
        for (int round = 0; round < took.length; round++) {
            long begun = System.nanoTime();
            for (int i = 0; i < ids.length; i++)
                ids[i] = guest.next();
            took[round] = (System.nanoTime() - begun) / ids.length;
        }
        Arrays.sort(took);
        err.println("one thread: best " + took[0] + " ns an id, median " + took[took.length / 2]);
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++)
            (threads[i] = new Thread(() -> {
                try {
                    write(guest.nextBatch(20000));
                } catch (IOException e) {
                    complain(e);
                }
            })).start();
        for (Thread thread : threads)
            thread.join();
    }

    static void drawSome() {
        Guest guest = new Guest(Player::connect, "crowd", 60000, 0, 0);
        while (true) {
            try {
                write(guest.nextBatch(10));
                return;
            } catch (Guest.NoGrant | IOException e) {
                complain(e);
            }
        }
    }
}
