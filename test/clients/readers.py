# readers.py: the reader of docs/readers.md that keeps a copy of a table in another database, beside those who change it.
import random
import threading

import psycopg
from checks import check

#page


SOURCE = """
CREATE EXTENSION uidgen_tools;
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next(), name text NOT NULL, price numeric);
INSERT INTO item (name, price) SELECT n, n FROM generate_series(1, 300) AS n;
SELECT uid_track_changes('item', execute => true);
CREATE VIEW item_changes AS
    SELECT c.* FROM (
        SELECT id, name, price, changed, false AS gone FROM item
        UNION ALL
        SELECT id, NULL, NULL, changed, true FROM item_deleted) AS c
    WHERE NOT (gone AND EXISTS (SELECT FROM item AS i WHERE i.id = c.id OFFSET 0))
        AND NOT EXISTS (SELECT FROM pg_class AS r WHERE r.oid IN ('item'::regclass, 'item_deleted'::regclass) AND r.relfilenode <> pg_relation_filenode(r.oid));
"""
source = psycopg.connect(autocommit=True)
source.execute(SOURCE)
name = source.info.dbname + "_copy"
source.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc")
target = psycopg.connect(dbname=name, autocommit=True)
target.execute("CREATE TABLE item (id bigint PRIMARY KEY, name text, price numeric)")
target.execute("CREATE TABLE item_place (last bigint)")
target.execute("INSERT INTO item_place VALUES (NULL)")


polls = 0


# As long as the reader has not come twenty times.
def write(seed):
    truncated = False
    chance = random.Random(seed)
    with psycopg.connect() as connection:
        while polls < 20:
            connection.execute("INSERT INTO item (name) VALUES (%s)", [str(seed)])
            id = connection.execute("SELECT id FROM item ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED").fetchone()
            if id:
                connection.execute(chance.choice(["UPDATE item SET price = 1 WHERE id = %s", "DELETE FROM item WHERE id = %s", "UPDATE item SET id = uid_next() WHERE id = %s"]), id)
            if seed == 0 and polls >= 10 and not truncated:
                connection.rollback()
                connection.execute("TRUNCATE item")
                truncated = True
            connection.rollback() if chance.random() < 0.1 and not truncated else connection.commit()


writers = [threading.Thread(target=write, args=[n]) for n in range(8)]
for writer in writers:
    writer.start()
while any(writer.is_alive() for writer in writers):
    follow(source, target)
    polls += 1
newest = source.execute("SELECT max(changed) FROM item_changes").fetchone()
for _ in range(100000):
    follow(source, target)
    if target.execute("SELECT last FROM item_place").fetchone() == newest:
        break
QUERY = "SELECT id, name, price FROM item ORDER BY id"
check("the copy equals the table", source.execute(QUERY).fetchall() == target.execute(QUERY).fetchall())
check("... which has rows", source.execute("SELECT count(*) FROM item").fetchone()[0] > 10)
