# TableRules.pm: rules of the tools and of readers, each of which can be left out, and by which steps that is found.
package TableRules;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(@RULES);
our @RULES;

# Of a tool: what of the text of its functions is left out, what comes in its place; then on which tables, by which steps (of some, some times as often), and as
# which kinds of failures it is found.
sub tool
{
	my ($name, $text, $by, $focus, $steps, $kinds) = @_;
	push @RULES, { name => $name, text => $text, by => $by, focus => $focus, steps => mix($steps), kinds => $kinds // 'C' };
	return;
}

# Of who reads; TableWorld.pm leaves it out.
sub reader
{
	my ($name, $reader, $steps) = @_;
	push @RULES, { name => $name, reader => $reader, focus => 'ttskp', steps => mix($steps), kinds => 'C' };
	return;
}

sub mix { return { map { /(\w+)(?:\*(\d+))?/ ? ($1 => $2 // 4) : () } split ' ', $_[0] } }

reader('a deleted key counts where no row has it', 'exists', 'track ins upd del again poll');
reader('nobody reads beyond the horizon', 'horizon', 'track*1 ins*6 upd begin*6 finish*1 poll*8');
reader('who meets a mark begins anew', 'marks', 'track ins trunc poll');

tool('a dropped partition leaves a mark', qr/PERFORM uidgen\.run_confined\(uidgen_tools\.write_mark\(d\.relid\)\) FROM unnest\(told\) AS d \(relid\);/, '', 'p', 'track ins drop poll');
tool('a partition of a partition leaves a mark in the whole', qr/FROM pg_partition_ancestors\("table"\) AS a \(relid\)/, 'FROM (VALUES ("table")) AS a (relid)', 'p', 'track*2 ins deep*8 poll');
tool('purged keys leave a mark', qr/\QUPDATE %1\E\$\Qs AS d SET %5\E\$s WHERE/, 'DELETE FROM %1$s AS d WHERE', 'tskp', 'track ins del purge poll');
tool('what is mended leaves a mark', qr/is_anew := is_anew OR l\.class = 'anew';/, 'is_anew := false;', 'tskp', 'track ins del disable untrigger poll');
tool('TRUNCATE leaves a mark', qr/'BEGIN PERFORM uidgen\.write_deleted/, q('BEGIN IF TG_OP = ''TRUNCATE'' THEN RETURN NULL; END IF; PERFORM uidgen.write_deleted), 'tskp', 'track ins trunc poll');
tool('each update has a version', qr/BEFORE INSERT OR UPDATE ON/, 'BEFORE INSERT ON', 'tskp', 'track ins upd poll', 'CKT');
tool('each former key is kept', qr{WHEN \(\(%s\) IS NOT TRUE\)}, 'WHEN (false AND NOT (%s))', 'tskp', 'track ins key tenant pk poll', 'CK');
tool('triggers fire in subscribers', qr/ENABLE ALWAYS/, 'ENABLE', 'tskp', 'track ins apply poll', 'CKT');
tool('a table with a child is not tracked', qr/EXISTS \(SELECT FROM pg_inherits AS i WHERE "table" IN/, 'false AND EXISTS (SELECT FROM pg_inherits AS i WHERE "table" IN', 't', 'track ins child poll', 'CK');
tool('partitions that are made have a trigger for TRUNCATE', qr/CASE WHEN tracked IS NULL/, 'CASE WHEN true', 'p', 'track*2 ins*8 leaf_drop parts leaf_trunc*6 poll*2 check', 'CK');
tool('columns of the key are compared', qr/WHERE \(p\.old_name = p\.name AND p\.old_type = p\.type\) IS NOT TRUE/, 'WHERE false', 'tsk', 'track ins del pk type adopt_by_hint poll', 'ACKR');
tool('a function that writes elsewhere is found', qr/CASE WHEN f\.writes_elsewhere THEN 'anew'/, q(CASE WHEN false THEN 'anew'), 'tskp', 'track schemas check poll', 'CK');
tool('what goes ends before the time', qr/r\.high <= own\.bound/, 'r.low <= own.bound', 'p', 'ins drop', 'P');
tool('a row has one number', qr/ AND NOT EXISTS \(SELECT FROM %3\$s AS n WHERE n\.id = t\.%1\$s\) ORDER/, ' ORDER', 'tp', 'ins number', 'NT');
tool('numbers are of one column', qr/numbered IS DISTINCT FROM id_column/, 'false', 't', 'ins number renumber', 'N');
tool('a table has its own deleted keys', qr/ IS NOT TRUE AND num_nonnulls\(record, relation\) > 0/, ' AND false', 'tp', 'track exchange*8 ins del poll check', 'CK');
tool('the last number is kept', qr/UPDATE %s SET number = %s, id = %s/, 'UPDATE %s SET id = id WHERE %s < 0 AND %s < 0', 'tp', 'ins number', 'NT');
tool('a last number that was lost is only told', qr/what := what \|\| ': if no number/, q(class := 'mend'; what := what || ': if no number), 't', 'ins*6 number*6 archive lose', 'N');
tool('a partition that something depends on stays', qr/is_past := is_past AND dependents IS NULL;/, '', 'p', 'ins view drop*8', 'T');

1;
