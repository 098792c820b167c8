--
-- The presets, as the view of the extension shows them.
--

IF to_regclass('uidgen.presets') IS NULL THEN
	CREATE VIEW uidgen.presets AS SELECT * FROM uidgen.layout_presets();
	COMMENT ON VIEW uidgen.presets IS 'the layouts that have a name';
END IF;
