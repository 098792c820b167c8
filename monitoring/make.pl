# monitoring/make.pl
#	  Makes the files of this folder out of uidgen.list: what exporters read, rules for Prometheus, and a dashboard for Grafana.
#
#	perl monitoring/make.pl [--runbook ADDRESS] [FOLDER]	# into another folder, as the test does to compare
#
# Alerts lead to the ADDRESS of your copy of docs/operations.md; else to that of the version in uidgen.control.  Core Perl only.
use strict;
use warnings;

use FindBin;
use Getopt::Long;
use JSON::PP;

my ($runbook, $folder);
GetOptions('runbook=s' => \$runbook) && @ARGV < 2 or die "usage: make.pl [--runbook ADDRESS] [FOLDER]\n";
$folder = $ARGV[0] // $FindBin::RealBin;
my $MADE = 'Made by monitoring/make.pl of uidgen.list: change that.';
if (!$runbook)
{
	open(my $control, '<', "$FindBin::RealBin/../uidgen.control") or die "could not read uidgen.control: $!\nName the page: --runbook ADDRESS\n";
	my ($version) = join('', <$control>) =~ /^default_version = '(.*)'/m;
	$runbook = "https://github.com/uidgen/uidgen/blob/v$version/docs/operations.md";
}

# ---- the list ----

my %parts = map { $_ => [] } qw(query alert stat);
{
	open(my $list, '<', "$FindBin::RealBin/uidgen.list") or die "could not read uidgen.list: $!";
	my $now;
	while (my $line = <$list>)
	{
		chomp $line;
		next if $line =~ /^#|^$/;
		if ($line =~ /^(query|alert) (\w+)$/ || $line =~ /^(stat) (.+)$/)
		{
			$now = { name => $2, columns => [], sql => '', shows => [] };
			push @{ $parts{$1} }, $now;
		}
		elsif ($line =~ /^\tsql (.*)$/) { $now->{sql} .= "$1\n"; }
		elsif ($line =~ /^\t(label|gauge|counter) (\w+) (.+)$/) { push @{ $now->{columns} }, { usage => $1, name => $2, is => $3 }; }
		elsif ($line =~ /^\tshows (\S+) (\w+) (.+)$/) { push @{ $now->{shows} }, { type => 'value', options => { $1 => { color => $2, text => $3 } } }; }
		elsif ($line =~ /^\t(on|expr|for|severity|says|remedy|unit|above|below|none) (.+)$/) { $now->{$1} = $2; }
		else { die "uidgen.list, line $.: $line\n"; }
	}
}

my @queries = @{ $parts{query} };

sub labels
{
	my ($query) = @_;
	return map { $_->{name} } grep { $_->{usage} eq 'label' } @{ $query->{columns} };
}

sub metrics
{
	my ($query) = @_;
	return grep { $_->{usage} ne 'label' } @{ $query->{columns} };
}

# ---- YAML ----

# A text on one line: JSON is YAML.
sub quoted
{
	return JSON::PP->new->allow_nonref->encode($_[0]);
}

# Several lines, which stand below "|".
sub block
{
	my ($text, $indent) = @_;
	return join '', map { "$indent$_\n" } split /\n/, $text;
}

sub write_file
{
	my ($name, $text) = @_;
	open(my $file, '>', "$folder/$name") or die "could not write $folder/$name: $!";
	print $file $text;
	close $file;
	return;
}

# ---- sql_exporter ----

foreach my $place (qw(server registry tables))
{
	my $text = "# $MADE\n# For sql_exporter: one of its collector_files.\ncollector_name: uidgen_$place\nmetrics:\n";
	my @here = grep { $_->{on} eq $place } @queries;
	foreach my $query (@here)
	{
		foreach my $column (metrics($query))
		{
			$text .= "  - metric_name: $query->{name}_$column->{name}\n    type: $column->{usage}\n    help: " . quoted($column->{is}) . "\n";
			$text .= '    key_labels: [' . join(', ', labels($query)) . "]\n" if labels($query);
			$text .= "    values: [$column->{name}]\n    query_ref: $query->{name}\n";
		}
	}
	$text .= "queries:\n" . join('', map { "  - query_name: $_->{name}\n    query: |\n" . block($_->{sql}, ' ' x 6) } @here);
	write_file("sql_exporter.$place.collector.yml", $text);
}

# ---- postgres_exporter, CloudNativePG ----

sub exporter_queries
{
	my ($place, $more) = @_;
	my $text = '';
	foreach my $query (grep { $_->{on} eq $place } @queries)
	{
		$text .= "$query->{name}:\n  query: |\n" . block($query->{sql}, ' ' x 4) . $more . "  metrics:\n"
		  . join('', map { "    - $_->{name}:\n        usage: " . uc($_->{usage}) . "\n        description: " . quoted($_->{is}) . "\n" } @{ $query->{columns} });
	}
	return $text;
}

foreach my $place (qw(server registry tables))
{
	write_file("postgres_exporter.$place.yml", "# $MADE\n# For postgres_exporter: --extend.query-path.\n" . exporter_queries($place, ''));
	my $database = { server => 'postgres', registry => 'uidgen', tables => 'app' }->{$place};
	write_file("cloudnativepg.$place.yaml", "# $MADE\n# For CloudNativePG: spec.monitoring.customQueriesConfigMap names it.  In target_databases is a database of the administrator's, not of an application's" . ($place eq 'tables' ? ', but for these' : '') . ".\n"
		  . "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: uidgen-$place-monitoring\n  labels:\n    cnpg.io/reload: \"\"\ndata:\n  custom-queries: |\n"
		  . block(exporter_queries($place, "  target_databases: [\"$database\"]\n"), ' ' x 4));
}

# ---- pgwatch ----

{
	my $text = "# $MADE\n# For pgwatch: --metrics; its presets are uidgen_server and uidgen_registry.\nmetrics:\n";
	foreach my $query (@queries)
	{
		my @columns = map { $_->{usage} eq 'label' ? "q.$_->{name} AS tag_$_->{name}" : "q.$_->{name}" } @{ $query->{columns} };
		$text .= "  $query->{name}:\n    sqls:\n      15: |\n" . block("SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint AS epoch_ns, " . join(', ', @columns)
			  . "\nFROM (\n$query->{sql}) AS q", ' ' x 8);
		$text .= '    gauges: [' . join(', ', map { $_->{name} } grep { $_->{usage} eq 'gauge' } @{ $query->{columns} }) . "]\n";
	}
	$text .= "presets:\n";
	foreach my $place (qw(server registry tables))
	{
		$text .= "  uidgen_$place:\n    metrics:\n" . join '', map { "      $_->{name}: 30\n" } grep { $_->{on} eq $place } @queries;
	}
	write_file('pgwatch.yaml', $text);
}

# ---- rules ----

# CloudNativePG puts a prefix before the names.
foreach my $kind ([ 'prometheus.rules.yml', '' ], [ 'cloudnativepg.rules.yml', 'cnpg_' ])
{
	my ($name, $prefix) = @$kind;
	my $text = "# $MADE\ngroups:\n  - name: uidgen\n    rules:\n";
	foreach my $alert (@{ $parts{alert} })
	{
		(my $expr = $alert->{expr}) =~ s/\buidgen_/${prefix}uidgen_/g;
		$text .= "      - alert: $alert->{name}\n        expr: " . quoted($expr) . "\n";
		$text .= "        for: $alert->{for}\n" if $alert->{for};
		$text .= "        labels:\n          severity: $alert->{severity}\n        annotations:\n          summary: "
		  . quoted('{{ $labels.' . ($expr =~ /by \(job\)/ ? 'job' : 'instance') . " }}: $alert->{says}") . "\n          runbook_url: " . quoted("$runbook#$alert->{remedy}") . "\n";
	}
	write_file($name, $text);
}

# ---- Grafana ----

# Which servers are looked at.
my $SELECTED = '{job=~"$job",instance=~"$instance"}';
my %source = (type => 'prometheus', uid => '${datasource}');
my $id = 0;

sub panel
{
	my ($type, $title, $x, $y, $width, $height, $defaults, $expr, $legend) = @_;
	return (id => ++$id, type => $type, title => $title, datasource => \%source, gridPos => { x => $x, y => $y, w => $width, h => $height }, fieldConfig => { defaults => $defaults, overrides => [] },
		targets => [ { refId => 'A', datasource => \%source, expr => $expr, legendFormat => $legend } ]);
}

# What one looks at when one is woken: a row of numbers, in red and green.
sub stat_panel
{
	my ($stat, $x) = @_;
	my @colors = defined $stat->{below} ? ('red', { color => 'green', value => 0 + $stat->{below} }) : ('green', defined $stat->{above} ? { color => 'red', value => 0 + $stat->{above} } : ());
	my %defaults = (unit => $stat->{unit} // 'short', noValue => $stat->{none}, mappings => $stat->{shows}, color => { mode => 'thresholds' },
		thresholds => { mode => 'absolute', steps => [ { color => shift @colors, value => undef }, @colors ] });
	return { panel('stat', $stat->{name}, $x, 0, 4, 5, \%defaults, $stat->{expr} =~ s/\b(uidgen_\w+)/$1$SELECTED/gr, ''),
		options => { colorMode => 'background', graphMode => 'area', reduceOptions => { calcs => ['lastNotNull'] } } };
}

sub graph
{
	my ($query, $metric, $column, $y) = @_;
	my $selected = "$query->{name}_$metric->{name}$SELECTED";
	my $rate = $metric->{usage} eq 'counter';
	my %defaults = (unit => $metric->{name} =~ /seconds$/ ? 's' : 'short', $metric->{name} =~ /offset|worker_id$|gap|lasts/ ? () : (min => 0));
	return { panel('timeseries', $metric->{is} . ($rate ? ', a second' : ''), 8 * ($column % 3), $y + 8 * int($column / 3), 8, 8, \%defaults,
		$rate ? "rate($selected\[5m])" : $selected, join(' ', '{{instance}}', map { "{{$_}}" } labels($query))) };
}

{
	my @panels = map { stat_panel($parts{stat}[$_], 4 * $_) } 0 .. $#{ $parts{stat} };
	my $y = 5;
	foreach my $query (@queries)
	{
		my @metrics = metrics($query);
		push @panels, { id => ++$id, type => 'row', title => $query->{name} =~ tr/_/ /r, collapsed => JSON::PP::true, gridPos => { x => 0, y => $y++, w => 24, h => 1 },
			panels => [ map { graph($query, $metrics[$_], $_, $y) } 0 .. $#metrics ] };
	}
	my %chosen = (type => 'query', datasource => \%source, multi => JSON::PP::true, includeAll => JSON::PP::true, current => { text => 'All', value => '$__all' }, refresh => 2);
	write_file(
		'grafana.json',
		JSON::PP->new->canonical->pretty->encode(
			{
				title => 'uidgen',
				uid => 'uidgen',
				description => $MADE,
				schemaVersion => 39,
				tags => ['postgresql'],
				time => { from => 'now-6h', to => 'now' },
				refresh => '30s',
				panels => \@panels,
				annotations => { list => [ { name => 'Alerts', datasource => \%source, enable => JSON::PP::true, iconColor => 'red', expr => 'ALERTS{alertname=~"Uidgen.*",alertstate="firing",job=~"$job"}',
							step => '30s', titleFormat => '{{alertname}}', textFormat => '{{instance}} {{database}} {{name}}', tagKeys => 'severity' } ] },
				templating => {
					list => [
						{ name => 'datasource', type => 'datasource', query => 'prometheus', label => 'Data source' },
						{ %chosen, name => 'job', label => 'Fleet', query => 'label_values({__name__=~"uidgen_.*"}, job)' },
						{ %chosen, name => 'instance', label => 'Servers', query => 'label_values({__name__=~"uidgen_.*",job=~"$job"}, instance)' },
					]
				}
			}));
}
