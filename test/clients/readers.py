# readers.py: the readers of docs/readers.md, which are clients/python/uidgen_reader.py: the consumer of an outbox, and a copy of a table in another
# database, beside those who write and change it.  A plain consumer of the same outbox loses rows.
import os
import random
import threading

import psycopg
from checks import check

TABLES = """
CREATE EXTENSION uidgen_tools;
CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT uid_next(), topic text);
CREATE TABLE "out%box" (id bigint PRIMARY KEY DEFAULT uid_next(), topic text);
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next(), name text NOT NULL, price numeric, tags jsonb DEFAULT '["a", null]', day date DEFAULT '2026-04-03', span interval DEFAULT '-1 day -02:03:04', ratio float8 DEFAULT 0.30000000000000004);
INSERT INTO item (name, price) SELECT n, n FROM generate_series(1, 300) AS n;
SELECT uid_track_changes('item', execute => true);
CREATE VIEW item_changes AS
    SELECT c.* FROM (
        SELECT id, name, price, tags, day, span, ratio, changed, false AS gone FROM item
        UNION ALL
        SELECT id, NULL, NULL, NULL, NULL, NULL, NULL, changed, true FROM item_deleted) AS c
    WHERE NOT (gone AND EXISTS (SELECT FROM item AS i WHERE i.id = c.id OFFSET 0))
        AND NOT EXISTS (SELECT FROM pg_class AS r WHERE r.oid IN ('item'::regclass, 'item_deleted'::regclass) AND r.relfilenode <> pg_relation_filenode(r.oid));
CREATE TABLE amount (id numeric PRIMARY KEY); SELECT uid_track_changes('amount', execute => true);
CREATE VIEW amount_changes AS SELECT id, changed, false AS gone FROM amount UNION ALL SELECT id, changed, true FROM amount_deleted;
"""
source = psycopg.connect(autocommit=True)
source.execute(TABLES)
name = source.info.dbname + "_copy"
for setting in "datestyle = 'SQL, DMY'", "intervalstyle = sql_standard", "extra_float_digits = 0":
    source.execute(f"ALTER DATABASE {source.info.dbname} SET {setting}")
source.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc")
target = psycopg.connect(dbname=name, autocommit=True)
target.execute('CREATE TABLE item (id bigint PRIMARY KEY, name text, price numeric, tags jsonb, day date, span interval, ratio float8, "50%" int DEFAULT 7, half numeric GENERATED ALWAYS AS (price / 2) STORED); ALTER TABLE item DROP COLUMN "50%"')
connect_shop, connect_copy = lambda: psycopg.connect(client_encoding="utf8"), lambda: psycopg.connect(dbname=name, client_encoding="utf8")
sent, errors = [], []


# What fails is sent again; what it wrote is not there then.
def send(rows, connection):
    connection.execute("INSERT INTO seen SELECT unnest(%s)", [[row["id"] for row in rows]])
    if random.random() < 0.2:
        raise RuntimeError("not sent")
    sent.extend(row["id"] for row in rows)


source.execute("CREATE TABLE seen (id bigint)")
#page
consumer = Consumer(connect_shop, '"out%box"', "it's", limit=50, places='"a % place"')
for what, call, reason in [("without a place nothing is read", lambda: consumer.poll(send), "a % place"), ("autocommit is refused", Consumer(lambda: psycopg.connect(autocommit=True), "outbox", "auto").begin, "autocommit mode"),
    ("texts as bytes are refused", Consumer(lambda: psycopg.connect(client_encoding="sql_ascii"), "outbox", "bytes").begin, "client_encoding=utf8")]:
    try:
        call()
        check(what, False)
    except Exception as error:
        check(what, reason in str(error))
consumer.begin()
polls = 0


# As long as the reader has not come twenty times.
def write(seed):
    truncated = False
    chance = random.Random(seed)
    with psycopg.connect() as connection:
        while polls < 20 or len(sent) < 3000:
            connection.execute('INSERT INTO "out%box" (topic) VALUES (%s)'.replace("t%b", "t%%b"), [str(seed)])
            connection.execute("INSERT INTO item (name) VALUES (%s)", [str(seed)])
            id = connection.execute("SELECT id FROM item ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED").fetchone()
            if id:
                connection.execute(chance.choice(["UPDATE item SET price = 1 WHERE id = %s", "DELETE FROM item WHERE id = %s", "UPDATE item SET id = uid_next() WHERE id = %s"]), id)
            if seed == 0 and polls >= 10 and not truncated:
                connection.rollback()
                connection.execute("TRUNCATE item")
                truncated = True
            connection.rollback() if chance.random() < 0.1 and not truncated else connection.commit()


# A control: it goes on behind the last id that it has seen.
plain = []


def read_plainly():
    with psycopg.connect(autocommit=True) as connection:
        while any(writer.is_alive() for writer in writers):
            plain.extend(id for id, in connection.execute('SELECT id FROM "out%%box" WHERE id > %s ORDER BY id', [plain[-1] if plain else 0]))


writers = [threading.Thread(target=write, args=[n]) for n in range(8)]
runner = threading.Thread(target=consumer.run, args=[send], kwargs=dict(pause=0.001, failed=lambda error: errors.append(str(error)) or True))
control = threading.Thread(target=read_plainly)
for thread in writers + [runner, control]:
    thread.start()
while any(writer.is_alive() for writer in writers):
    items.poll()
    polls += 1
for thread in writers + [control]:
    thread.join()
rows = [id for id, in source.execute('SELECT id FROM "out%box" ORDER BY id')]
for _ in range(100000):
    if len(sent) >= len(rows):
        break
    source.execute("SELECT pg_sleep(0.001)")
consumer.stop()
runner.join()
check("a consumer is handed each row of an outbox once, in order", sent == rows)
check("... beside errors, after which rows are handed over again", set(errors) == {"not sent"})
check("... and what it writes is there once", source.execute("SELECT count(*), count(DISTINCT id) FROM seen").fetchone() == (len(rows), len(rows)))
check("... where a plain one loses rows", len(plain) < len(rows))
check("the horizon blocks nobody", consumer.blocked_since is None)
newest = source.execute("SELECT max(changed) FROM item_changes").fetchone()
for _ in range(100000):
    items.poll()
    if target.execute("SELECT last FROM reader_place").fetchone() == newest:
        break
QUERY = "SELECT id, name, price, tags, day - '2026-01-01' AS days, extract(epoch FROM span) AS seconds, ratio = 0.30000000000000004 AS same FROM item ORDER BY id"
check("the copy equals the table, which has rows", len(target.execute(QUERY).fetchall()) > 10 and source.execute(QUERY).fetchall() == target.execute(QUERY).fetchall())
source.execute("CREATE SCHEMA unknown; CREATE FUNCTION unknown.uid_horizon() RETURNS bigint LANGUAGE sql AS 'SELECT NULL::bigint'")
target.execute("UPDATE reader_place SET last = NULL")
blind = Copy(lambda: psycopg.connect(client_encoding="utf8", options="-c search_path=unknown,public"), connect_copy, "item_changes", "item")
check("a copy that begins anew keeps its rows while the horizon is null", blind.poll() == 0 and blind.blocked_since and source.execute(QUERY).fetchall() == target.execute(QUERY).fetchall())
target.execute("INSERT INTO item (id) VALUES (1)")
check("... until rows come", items.poll() > 10 and source.execute(QUERY).fetchall() == target.execute(QUERY).fetchall())
target.execute("CREATE TABLE amount (id numeric PRIMARY KEY)")
amounts = Copy(connect_shop, connect_copy, "amount_changes", "amount")
amounts.begin()
for key in "1.0", "1.00":
    source.execute("INSERT INTO amount VALUES (%s::numeric) ON CONFLICT (id) DO UPDATE SET id = EXCLUDED.id", [key])
    for _ in range(100000):
        if amounts.poll():
            break
check("a key that is written in another way is written so in the copy", target.execute("SELECT id::text FROM amount").fetchall() == [("1.00",)])
