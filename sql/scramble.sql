-- Numbers for the public: nothing here depends on settings.
\set SHOW_CONTEXT never

-- The map never changes.  An independent implementation, in Python, gave these images.
CREATE TEMP TABLE known (key bytea, bits int, number bigint, image bigint);
INSERT INTO known VALUES
	('\x000102030405060708090a0b0c0d0e0f', 63, 0, 3145280130476901205),
	('\x000102030405060708090a0b0c0d0e0f', 63, 1, 3845394815409421886),
	('\x000102030405060708090a0b0c0d0e0f', 63, 2, 6790543211335428465),
	('\x000102030405060708090a0b0c0d0e0f', 63, 4294967295, 8720898458158613515),
	('\x000102030405060708090a0b0c0d0e0f', 63, 4294967296, 2788658946952459931),
	('\x000102030405060708090a0b0c0d0e0f', 63, 4611686018427387904, 7241235834225047013),
	('\x000102030405060708090a0b0c0d0e0f', 63, 9223372036854775807, 6731476861485367243),
	('\x000102030405060708090a0b0c0d0e0f', 63, 249949029770874880, 6483856280705257979),
	('\xe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', 63, 0, 1217106011419774346),
	('\xe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', 63, 1, 2302417626827522320),
	('\xe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', 63, 9223372036854775807, 4823943938094583626),
	('\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f60616263', 63, 0, 1672577406586491103),
	('\x000102030405060708090a0b0c0d0e0f', 62, 0, 4417906128541586282),
	('\x000102030405060708090a0b0c0d0e0f', 62, 4611686018427387903, 404207878210422648),
	('\x000102030405060708090a0b0c0d0e0f', 33, 0, 2913405367),
	('\x000102030405060708090a0b0c0d0e0f', 33, 1, 8084070862),
	('\x000102030405060708090a0b0c0d0e0f', 33, 1000, 6607522805),
	('\x000102030405060708090a0b0c0d0e0f', 33, 8589934591, 5220121157),
	('\x000102030405060708090a0b0c0d0e0f', 32, 1, 247236499),
	('\xe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', 31, 1000, 1241200493),
	('\x000102030405060708090a0b0c0d0e0f', 3, 0, 2),
	('\x000102030405060708090a0b0c0d0e0f', 3, 1, 5),
	('\x000102030405060708090a0b0c0d0e0f', 3, 2, 1),
	('\x000102030405060708090a0b0c0d0e0f', 3, 3, 6),
	('\x000102030405060708090a0b0c0d0e0f', 3, 4, 4),
	('\x000102030405060708090a0b0c0d0e0f', 3, 5, 3),
	('\x000102030405060708090a0b0c0d0e0f', 3, 6, 7),
	('\x000102030405060708090a0b0c0d0e0f', 3, 7, 0),
	('\x000102030405060708090a0b0c0d0e0f', 2, 0, 1),
	('\x000102030405060708090a0b0c0d0e0f', 2, 1, 3),
	('\x000102030405060708090a0b0c0d0e0f', 2, 2, 0),
	('\x000102030405060708090a0b0c0d0e0f', 2, 3, 2);
SELECT count(*), count(*) FILTER (WHERE uid_scramble(number, key, bits) <> image) AS other_images,
	count(*) FILTER (WHERE uid_unscramble(image, key, bits) <> number) AS other_numbers
FROM known;
SELECT uid_scramble(1, '\x000102030405060708090a0b0c0d0e0f'), uid_unscramble(3845394815409421886, '\x000102030405060708090a0b0c0d0e0f');
-- A key that is stored compressed
CREATE TEMP TABLE stored (key bytea);
INSERT INTO stored VALUES (decode(repeat('2a', 100000), 'hex'));
SELECT pg_column_size(key) < 10000 AS compressed, uid_scramble(1, key) = uid_scramble(1, sha256(key)) AS as_hmac_has_it FROM stored;

-- A bijection: on small widths, all numbers are the images of all numbers.
CREATE FUNCTION pg_temp.key(n int) RETURNS bytea LANGUAGE sql IMMUTABLE RETURN sha256(int4send(n));
SELECT bits, count(*) = 2 * (1 << bits) AS all_numbers, count(DISTINCT (n, image)) = 2 * (1 << bits) AS each_once,
	min(image), max(image) = (1 << bits) - 1 AS to_the_end, bool_and(uid_unscramble(image, pg_temp.key(n), bits) = number) AS back
FROM generate_series(2, 8) AS bits, generate_series(1, 2) AS n, generate_series(0, (1 << bits) - 1) AS number,
	uid_scramble(number, pg_temp.key(n), bits) AS image
GROUP BY bits ORDER BY bits;
-- On each width, also from images back: edges, and numbers of any size.
CREATE TEMP TABLE trial AS
SELECT DISTINCT bits, number, uid_scramble(number, pg_temp.key(bits), bits) AS image
FROM generate_series(2, 63) AS bits, LATERAL (SELECT (2 ^ bits::numeric - 1)::bigint AS largest) AS l,
	LATERAL (SELECT d FROM generate_series(0, 2) AS d UNION ALL SELECT largest - d FROM generate_series(0, 2) AS d
		UNION ALL SELECT hashint8extended(n, bits) & largest FROM generate_series(1, 20) AS n) AS t (number)
WHERE number BETWEEN 0 AND largest;
SELECT count(DISTINCT bits) AS widths, count(*) > 1000 AS many, count(*) - count(DISTINCT (bits, image)) AS equal_images,
	count(*) FILTER (WHERE image < 0 OR image::numeric >= 2 ^ bits::numeric) AS outside,
	count(*) FILTER (WHERE uid_unscramble(image, pg_temp.key(bits), bits) <> number) AS changed,
	count(*) FILTER (WHERE uid_scramble(uid_unscramble(number, pg_temp.key(bits), bits), pg_temp.key(bits), bits) <> number) AS changed_back
FROM trial;

-- The widths of one key have different maps, also where their low halves are equally long.
SELECT count(DISTINCT uid_scramble(number, pg_temp.key(1), 15)) AS numbers,
	count(*) FILTER (WHERE uid_scramble(number, pg_temp.key(1), 15) = uid_scramble(number, pg_temp.key(1), 16) & 32767) < 10 AS differ
FROM generate_series(0, 511) AS number;

-- Errors: the number
SELECT uid_scramble(-1, pg_temp.key(1));
\echo :LAST_ERROR_SQLSTATE
SELECT uid_unscramble(-9223372036854775808, pg_temp.key(1));
\echo :LAST_ERROR_SQLSTATE
SELECT uid_scramble(8589934592, pg_temp.key(1), 33);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_unscramble(4, pg_temp.key(1), 2);
\echo :LAST_ERROR_SQLSTATE
-- The key
SELECT uid_scramble(1, '');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_unscramble(1, '\x000102030405060708090a0b0c0d0e', 33);
\echo :LAST_ERROR_SQLSTATE
-- The width
SELECT uid_scramble(1, pg_temp.key(1), 64);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_unscramble(1, pg_temp.key(1), 1);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_scramble(0, pg_temp.key(1), -2147483648);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_scramble(0, pg_temp.key(1), 2147483647);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_scramble(NULL, pg_temp.key(1)) IS NULL AS number, uid_scramble(1, NULL) IS NULL AS key, uid_unscramble(1, pg_temp.key(1), NULL) IS NULL AS bits;
-- An error leaves nothing behind that would disturb the next call.
DO $$
BEGIN
	FOR n IN 1 .. 3 LOOP
		BEGIN
			PERFORM uid_scramble(g, sha256('key'), 8) FROM generate_series(255, 256) AS g;
		EXCEPTION WHEN numeric_value_out_of_range THEN
			RAISE INFO '%', uid_unscramble(uid_scramble(n, sha256('key'), 8), sha256('key'), 8);
		END;
	END LOOP;
END $$;

-- Outside, the image; inside, the number, which the index of the key finds.  Who may call
-- the two functions can do without the right to read their key.
CREATE ROLE regress_uidgen_shop;
CREATE TABLE order_key (key bytea NOT NULL);
INSERT INTO order_key VALUES (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
CREATE FUNCTION order_number(id bigint) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
RETURN uid_scramble(id, (SELECT key FROM order_key), 33);
CREATE FUNCTION order_id(number bigint) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
RETURN uid_unscramble(number, (SELECT key FROM order_key), 33);
CREATE TABLE orders (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, item text);
INSERT INTO orders (item) SELECT n FROM generate_series(1, 100) AS n;
GRANT SELECT ON orders TO regress_uidgen_shop;
SET ROLE regress_uidgen_shop;
SELECT count(*), count(DISTINCT order_number(id)) AS numbers, count(*) FILTER (WHERE order_id(order_number(id)) <> id) AS changed FROM orders;
SELECT id, item FROM orders WHERE id = order_id(order_number(42));
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE id = order_id(4711);
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT key FROM order_key;
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
DROP FUNCTION order_number, order_id;
DROP TABLE orders, order_key;
DROP ROLE regress_uidgen_shop;
