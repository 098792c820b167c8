DROP FUNCTION uidgen.registry_tick(bigint, bigint);
DROP FUNCTION uidgen.status_0_1();
