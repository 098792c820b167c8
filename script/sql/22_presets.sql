--
-- The presets, as the view of the extension shows them.
--

CREATE VIEW uidgen.presets AS
	SELECT p.name, p.layout, n.note
	FROM uidgen.layout_presets() WITH ORDINALITY AS p (name, layout, n)
		JOIN (VALUES
			('default', 'uidgen''s default: 1024 workers, 4096 ids a millisecond each, until 2094'),
			('js53', 'uidgen''s layout of seconds, fit for JavaScript numbers: ids stay below 2^53; 256 workers, 16384 ids a second each, until 2093'),
			('js53ms', 'uidgen''s layout of milliseconds, fit for JavaScript numbers: ids stay below 2^53; 8 workers, 512 ids a millisecond each, until 2094'),
			('seconds', 'uidgen''s layout of seconds: 16384 workers, 131072 ids a second each, until 2161'),
			('twitter', 'Twitter Snowflake'),
			('snowflake', 'another name of twitter'),
			('baidu', 'Baidu UidGenerator''s defaults; used up since 2024-11-20: give a new epoch to generate with it'),
			('leaf', 'Meituan Leaf, snowflake mode'),
			('mybatis-plus', 'MyBatis-Plus Sequence (ASSIGN_ID)'),
			('discord', 'Discord, for decoding; its process is the tag'),
			('instagram', 'Instagram, for decoding; its shard is the worker'),
			('sonyflake', 'Sonyflake version 1'),
			('sonyflake-v2', 'Sonyflake version 2 with its defaults'),
			('mastodon', 'Mastodon, for decoding; its lowest bits are a hash plus a counter'),
			('tsid', 'TSID with 10 bits of node, for decoding'),
			('cosid', 'CosId, milliseconds'),
			('cosid-s', 'CosId, seconds'),
			('cosid-js', 'CosId safe for JavaScript, milliseconds'),
			('cosid-js-s', 'CosId safe for JavaScript, seconds'),
			('seata', 'Seata since its worker moved to the front, for decoding'),
			('seata-2020', 'Seata before its worker moved to the front'),
			('yitter', 'Yitter IdGenerator with its defaults and its Java epoch'),
			('pgedge', 'pgEdge snowflake'),
			('pgedge-2023', 'pgEdge snowflake''s first releases'),
			('cockroachdb', 'CockroachDB unique_rowid(), for decoding; node ids of up to 15 bits, which its exclusive or leaves as they are'),
			('timeshard', 'BDR 2 timeshard, for decoding'),
			('pgactive', 'pgactive_snowflake_id_nextval(), for decoding'),
			('pgdog', 'PgDog''s unique ids'),
			('linkedin', 'LinkedIn, for decoding; what its other bits are is not published'),
			('tiktok', 'TikTok, for decoding; what its other bits are is not published')) AS n (name, note) ON n.name = p.name
	ORDER BY p.n;
COMMENT ON VIEW uidgen.presets IS 'the layouts that have a name';
