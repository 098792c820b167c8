"""Readers that go on by id and miss no row: the consumer of an outbox, and a copy of a tracked table.

    import psycopg, uidgen_reader
    consumer = uidgen_reader.Consumer(lambda: psycopg.connect("dbname=shop client_encoding=utf8"), "outbox", "mail")
    consumer.begin()                    # makes the table of places, and a place, unless they are there
    consumer.run(send)                  # calls send(rows, connection) again and again, until consumer.stop()

A row that commits late has a smaller id than rows that were seen before, so a reader ends at uid_horizon().  docs/readers.md has the rules.
Needs Python 3.7, and psycopg 3 or psycopg2.
"""
import threading, time


class _Connection:
    """A connection that is made when it is needed, and again after an error."""

    def __init__(self, connect):
        self._connect = connect
        self._made = None

    def get(self):
        if self._made is None:
            self._made = self._connect()
            if self._made.autocommit:   # the place would move before the rows are handed over
                raise ValueError("the connection is in autocommit mode: a reader needs transactions")
            if self._made.info.parameter_status("client_encoding") == "SQL_ASCII":     # texts would be bytes
                raise ValueError("client_encoding is SQL_ASCII: connect with client_encoding=utf8, or what the texts are in")
        return self._made

    def close(self):
        made, self._made = self._made, None
        if made:
            made.close()                # and so its transaction is rolled back

    def ask(self, statement, *values):
        """Runs a statement in the transaction that is open, or in a new one.  Return: its rows, as dictionaries."""
        with self.get().cursor() as cursor:
            cursor.execute(statement, values)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row)) for row in cursor.fetchall()] if names else []

    def name(self, table):
        """A table as a statement with values writes it; whatever it is called, it stays a name."""
        return self.ask("SELECT %s::pg_catalog.regclass::pg_catalog.text AS name", table)[0]["name"].replace("%", "%%")

    def quote(self, column):
        return self.ask("SELECT pg_catalog.quote_ident(%s) AS name", column)[0]["name"].replace("%", "%%")

    def make_place(self, places, reader, last):
        """Makes the table of places and the place of a reader, unless they are there."""
        self.ask("SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext(%s))::pg_catalog.text", places)      # readers may begin at once
        if self.ask("SELECT pg_catalog.to_regclass(%s) IS NULL AS missing", places)[0]["missing"]:
            self.ask("CREATE TABLE " + places.replace("%", "%%") + " (reader text PRIMARY KEY, last bigint)")
        self.ask("INSERT INTO " + self.name(places) + " (reader, last) VALUES (%s, %s) ON CONFLICT DO NOTHING", reader, last)
        self.get().commit()

    def write_alike(self):
        """Until the transaction ends, values are texts that mean the same on each server, whatever its settings are."""
        self.ask("SELECT pg_catalog.set_config(s.name, s.value, true) FROM (VALUES ('datestyle', 'ISO, MDY'), ('intervalstyle', 'postgres'), ('extra_float_digits', '3'), ('lc_monetary', 'C')) AS s (name, value)")

    def lock_place(self, places, reader):
        """Return: the place of a reader, which nobody else can have before the transaction ends."""
        rows = self.ask("SELECT last FROM " + self.name(places) + " WHERE reader = %s FOR UPDATE", reader)
        if not rows:
            raise LookupError("%s has no place in table %s: call begin()" % (reader, places))
        return rows[0]["last"]

    def move_place(self, places, reader, last):
        self.ask("UPDATE " + self.name(places) + " SET last = %s WHERE reader = %s", last, reader)
        self.get().commit()


class _Reader:
    """The loop of a consumer or copy, and what it knows of the horizon."""

    def __init__(self, name, places, limit):
        self.name, self.places, self.limit = name, places, limit
        self.blocked_since = None       # time.time() since which uid_horizon() is null, as beside a prepared transaction of before a restart
        self._stopped = threading.Event()

    def stop(self):
        """Ends run(), in whatever thread it is, after the poll that is under way."""
        self._stopped.set()

    def _note_horizon(self, connection, rows):
        """Null is not "nothing new".  If it lasts, uidgen.horizon_holders names who is to be looked at."""
        if rows or not connection.ask("SELECT uid_horizon() IS NULL AS blocked")[0]["blocked"]:
            self.blocked_since = None
        else:
            self.blocked_since = self.blocked_since or time.time()

    def _loop(self, poll, pause, failed):
        wait = 0
        while not self._stopped.wait(wait):
            is_full = False         # and has more behind it
            try:
                is_full = poll() >= self.limit
            except Exception as error:
                if not failed or not failed(error):
                    raise
            wait = 0 if is_full else min(2 * wait or pause, 16 * pause)

    def _in_transaction(self, work, *values):
        try:
            return work(*values)
        except BaseException:
            self.close()
            raise


class Consumer(_Reader):
    """Hands each row of a table to a function, once, in the order of ids.

    The place is in a table of the same database, and moves in the transaction in which the rows are handed over.  So what the function writes by the
    connection that it is given is there if the place has moved, and only then.  What it does elsewhere is done again after an error.  Several consumers
    of one name take turns.
    """

    def __init__(self, connect, table, name, key="id", places="reader_place", limit=1000):
        """connect() returns a connection that is not in autocommit mode, in client_encoding utf8; table and places may have a schema, and are quoted as in SQL."""
        super().__init__(name, places, limit)
        self._table, self._key = table, key
        self._connection = _Connection(connect)

    def begin(self, last=0):
        """Makes the table of places, and a place behind the id last, unless they are there."""
        self._in_transaction(self._connection.make_place, self.places, self.name, last)

    def poll(self, handle):
        """Calls handle(rows, connection) with what is new, dictionaries, if anything is.  Return: how many rows; limit: there are more."""
        return self._in_transaction(self._poll, self._connection, handle)

    def run(self, handle, pause=0.1, failed=None):
        """Polls until stop().  An error ends it, unless failed(error) returns true.  The pause doubles, up to 16 times, while nothing is new."""
        self._loop(lambda: self.poll(handle), pause, failed)

    def close(self):
        self._connection.close()

    def _poll(self, c, handle):
        last = c.lock_place(self.places, self.name)
        key = c.quote(self._key)
        # A statement of its own, whose snapshot is later than the lock.
        rows = c.ask("SELECT * FROM " + c.name(self._table) + " WHERE " + key + " > %s AND " + key + " <= uid_horizon() ORDER BY " + key + " LIMIT %s", last, self.limit)
        self._note_horizon(c, rows)
        if rows:
            handle(rows, c.get())
            last = rows[-1][self._key]
        c.move_place(self.places, self.name, last)
        return len(rows)


class Copy(_Reader):
    """Keeps a copy of a tracked table in another database, by the view of changes of docs/readers.md.

    The copy has the columns of its table, and the primary key of the source.  Rows and place change in one transaction.
    """

    def __init__(self, connect_source, connect_copy, view, table, version="changed", places="reader_place", limit=1000):
        """Each function returns a connection that is not in autocommit mode, in client_encoding utf8."""
        super().__init__("copy of " + table, places, limit)
        self._view, self._table, self._version = view, table, version
        self._source, self._copy = _Connection(connect_source), _Connection(connect_copy)

    def begin(self):
        """Makes the table of places, and a place before the first copy, unless they are there."""
        self._in_transaction(self._copy.make_place, self.places, self.name, None)

    def poll(self):
        """Brings up to limit changes into the copy, or all rows if the copy is not made yet or has to be made anew.  Return: how many; limit: there are more."""
        return self._in_transaction(self._poll)

    def run(self, pause=0.1, failed=None):
        """Polls until stop(), as Consumer.run() does."""
        self._loop(self.poll, pause, failed)

    def close(self):
        self._source.close()
        self._copy.close()

    def _poll(self):
        copy, source = self._copy, self._source
        place = last = copy.lock_place(self.places, self.name)
        copy.write_alike()
        source.write_alike()
        table = copy.name(self._table)
        columns = copy.ask("""SELECT pg_catalog.quote_ident(a.attname) AS name, COALESCE(a.attnum = ANY (i.indkey), false) AS is_key, a.attidentity = 'a' AS is_fixed
            FROM pg_catalog.pg_attribute AS a LEFT JOIN pg_catalog.pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
            WHERE a.attrelid = %s::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum""", self._table)
        for column in columns:
            column["name"] = column["name"].replace("%", "%%")
        keys = [n for n, column in enumerate(columns) if column["is_key"]]
        if not keys:
            raise LookupError("table %s, the copy, has no primary key" % self._table)
        version = source.quote(self._version)
        # As text, so that the driver's types need not be equal.
        query = ("SELECT %s, v.%s, v.gone FROM %s AS v WHERE v.%s <= uid_horizon()"
            % (", ".join("v.%s::pg_catalog.text" % column["name"] for column in columns), version, source.name(self._view), version))
        delete = "DELETE FROM %s WHERE %s" % (table, " AND ".join("%s = %%s" % columns[n]["name"] for n in keys))
        # The key, too: equal keys can be written in two ways.
        updates = ["%s = EXCLUDED.%s" % (column["name"], column["name"]) for column in columns if not column["is_fixed"]]
        insert = "INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE VALUES (%s) ON CONFLICT (%s) DO %s" % (table, ", ".join(column["name"] for column in columns), ", ".join(["%s"] * len(columns)),
            ", ".join(columns[n]["name"] for n in keys), "UPDATE SET " + ", ".join(updates) if updates else "NOTHING")
        count = 0
        # On the server, so that a first copy may be larger than memory.
        with source.get().cursor("uidgen_changes") as changes, copy.get().cursor() as cursor:
            if place is None:
                changes.execute(query, ())
            else:
                changes.execute(query + " AND v." + version + " > %s ORDER BY v." + version + " LIMIT %s", (place, self.limit))
            for *values, changed, gone in changes:
                key = [values[n] for n in keys]
                if None in key and place is not None:       # a mark: anew, the next time
                    last, count = None, self.limit
                    break
                if last is None:                            # not before: an empty answer says nothing of the table
                    cursor.execute("DELETE FROM " + table, ())
                cursor.execute(*(delete, key) if gone else (insert, values))
                last = max(last or 0, changed)
                count += 1
        self._note_horizon(source, count)
        source.get().rollback()
        copy.move_place(self.places, self.name, last)
        return count
