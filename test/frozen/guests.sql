-- A guest of version 1 of the protocol (docs/protocol.md), with two worker ids at most: its calls as a client writes them, and what it reads of the answers.
\echo acquire: a worker id of guests, ticks, and how far they reach
SELECT 11::bigint AS token, worker, first_tick, last_tick, layout, unit, epoch, registry_id, timeline, clock FROM uidgen_registry.guest_acquire('a'::text, 11::bigint, '{}'::bigint[], -1::integer, -1::bigint, 0::integer, 0::bigint) \gset
SELECT :token, :worker BETWEEN 512 AND 1023, :first_tick <= :last_tick, :last_tick - (:clock - :epoch) / :unit BETWEEN 1 AND 120000, :'layout', :unit, :epoch, :timeline > 0, abs(extract(epoch FROM now()) - :clock / 1000000) < 3600;
\echo renew: more of it
SELECT 12::bigint AS token, last_tick AS renewed, registry_id = :registry_id AS same, timeline = :timeline AS line, clock AS later FROM uidgen_registry.guest_renew(:worker::integer, 11::bigint, :last_tick::bigint, 12::bigint, 0::bigint, 0::integer) \gset
SELECT :token, :renewed >= :last_tick, :'same', :'line', :later >= :clock;
\echo renew with a token that is over: nothing
SELECT 13::bigint AS token, last_tick, registry_id = :registry_id FROM uidgen_registry.guest_renew(:worker::integer, 11::bigint, :last_tick::bigint, 13::bigint, 0::bigint, 0::integer);
\echo acquire with the tokens that are known, and a claim: the same worker id, above
SELECT 14::bigint AS token, worker = :worker, first_tick > :renewed FROM uidgen_registry.guest_acquire('a'::text, 14::bigint, '{12,13}'::bigint[], :worker::integer, :renewed::bigint, 0::integer, :registry_id::bigint);
\echo acquire of another registry: which this is
SELECT 21::bigint AS token, worker, first_tick, registry_id = :registry_id, clock > 0 FROM uidgen_registry.guest_acquire('b'::text, 21::bigint, '{}'::bigint[], -1::integer, -1::bigint, 0::integer, -1::bigint);
\echo acquire by another guest: another worker id
SELECT 22::bigint AS token, worker <> :worker FROM uidgen_registry.guest_acquire('b'::text, 22::bigint, '{21}'::bigint[], -1::integer, -1::bigint, 0::integer, 0::bigint);
\echo acquire of one too many; in another isolation level; a call that the role has no right on
SELECT worker FROM uidgen_registry.guest_acquire('c'::text, 31::bigint, '{}'::bigint[], -1::integer, -1::bigint, 0::integer, 0::bigint);
\echo :SQLSTATE
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT worker FROM uidgen_registry.guest_acquire('a'::text, 15::bigint, '{14}'::bigint[], -1::integer, -1::bigint, 0::integer, 0::bigint);
\echo :SQLSTATE
ROLLBACK;
SELECT uidgen_registry.grant_guest('guest');
\echo :SQLSTATE
\echo release: its own, by a token; no more
SELECT uidgen_registry.guest_release(:worker::integer, '{12,14}'::bigint[], 0::integer);
SELECT uidgen_registry.guest_release(:worker::integer, '{99}'::bigint[], 0::integer);
